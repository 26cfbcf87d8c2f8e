/** The status of a job, an operator or a checkpoint, as a word with a mark. */

const KINDS: Record<string, string> = {
  RUNNING: "good", FINISHED: "done", COMPLETED: "good", FAILED: "bad", FAILING: "bad",
  RESTARTING: "warn", CANCELLING: "warn", IN_PROGRESS: "warn", CREATED: "warn", INITIALIZING: "warn",
};

/** Flink's names have American spelling. */
const WORDS: Record<string, string> = { CANCELED: "cancelled" };

/** The word for a status, in small letters. */
export const wordOf = (status: string): string => (WORDS[status] ?? status).toLowerCase().replaceAll("_", " ");

export function Status({ of }: { of: string }) {
  const word = wordOf(of);
  return (
    <span class={`status ${KINDS[of] ?? "idle"}`}>
      {word.charAt(0).toUpperCase() + word.slice(1)}
    </span>
  );
}
