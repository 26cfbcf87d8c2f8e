/** What the status of a job says about it. */

import type { JobStatus } from "../api/types";

const OVER: ReadonlySet<JobStatus> = new Set<JobStatus>(["FINISHED", "CANCELED", "FAILED"]);

/** Whether it runs no more and will not run again. */
export const isOver = (status: JobStatus): boolean => OVER.has(status);
