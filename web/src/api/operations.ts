/** What the UI asks the server to do. Each throws a `RequestError` when it is refused. */

import { ask, RequestError } from "./client";
import type { AsyncResult } from "./types";

const POLL_MS = 500;

export const cancelJob = (job: string): Promise<unknown> => ask(`jobs/${job}?mode=cancel`, { method: "PATCH" });

/** Stops a job with a savepoint; the path of the savepoint. */
export async function stopJob(job: string, drain: boolean, directory: string): Promise<string> {
  const body = { drain, ...(directory ? { targetDirectory: directory } : {}) };
  const made = await ask<{ "request-id": string }>(`jobs/${job}/stop`, { method: "POST", body });
  return finished(`jobs/${job}/savepoints/${made["request-id"]}`);
}

/** Takes a savepoint while the job runs on; its path. */
export async function takeSavepoint(job: string, directory: string): Promise<string> {
  const body = { "cancel-job": false, ...(directory ? { "target-directory": directory } : {}) };
  const made = await ask<{ "request-id": string }>(`jobs/${job}/savepoints`, { method: "POST", body });
  return finished(`jobs/${job}/savepoints/${made["request-id"]}`);
}

export async function rescaleJob(job: string, parallelism: number): Promise<void> {
  const path = `jobs/${job}/rescaling`;
  const made = await ask<{ "request-id": string }>(`${path}?parallelism=${parallelism}`, { method: "PATCH" });
  await finished(`${path}/${made["request-id"]}`);
}

/** Runs an ended job once more; the id of the new job. */
export async function rerunJob(job: string, start: "beginning" | "checkpoint"): Promise<string> {
  return (await ask<{ jobid: string }>(`jobs/${job}/rerun`, { method: "POST", body: { start } })).jobid;
}

export async function disposeSavepoint(path: string): Promise<void> {
  const body = { "savepoint-path": path };
  const made = await ask<{ "request-id": string }>("savepoint-disposal", { method: "POST", body });
  await finished(`savepoint-disposal/${made["request-id"]}`);
}

/** Uploads a job file; the id under which it can be run. */
export async function uploadProgram(file: File): Promise<string> {
  const form = new FormData();
  form.append("jarfile", file, file.name);
  const made = await ask<{ filename: string }>("jars/upload", { method: "POST", body: form });
  return made.filename.split("/").at(-1) ?? made.filename;
}

export const deleteProgram = (id: string): Promise<unknown> =>
  ask(`jars/${encodeURIComponent(id)}`, { method: "DELETE" });

export interface RunRequest {
  programArgsList?: string[];
  parallelism?: number;
  savepointPath?: string;
  allowNonRestoredState?: boolean;
  jobName?: string;
  flinkConfiguration?: Record<string, string>;
}

/** A program to run: the id of an upload, or the path of a file below the server's directory of programs. */
export type Chosen = { upload: string } | { path: string };

/** Runs a program; the job's id. */
export async function runProgram(program: Chosen, request: RunRequest): Promise<string> {
  const [path, body] =
    "upload" in program
      ? [`jars/${encodeURIComponent(program.upload)}/run`, request]
      : ["programs/run", { ...request, program: program.path }];
  return (await ask<{ jobid: string }>(path, { method: "POST", body })).jobid;
}

/** Waits for an operation that takes its time; where its result is. */
async function finished(path: string): Promise<string> {
  for (;;) {
    const answer = await ask<AsyncResult>(path);
    if (answer.status.id === "COMPLETED") {
      const cause = answer.operation?.["failure-cause"];
      if (cause) throw new RequestError(500, lastLine(cause["stack-trace"]) || cause.class || "The operation failed.");
      return answer.operation?.location ?? "";
    }
    await new Promise((done) => setTimeout(done, POLL_MS));
  }
}

function lastLine(text: string | undefined): string {
  return text?.trimEnd().split("\n").at(-1) ?? "";
}
