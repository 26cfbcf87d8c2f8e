/** The status of a job, an operator or a checkpoint, as a word with a mark. */

const KINDS: Record<string, string> = {
  RUNNING: "good", FINISHED: "done", COMPLETED: "good", FAILED: "bad", FAILING: "bad",
  RESTARTING: "warn", CANCELLING: "warn", IN_PROGRESS: "warn", CREATED: "warn", INITIALIZING: "warn",
};

/** Flink's names have American spelling. */
const WORDS: Record<string, string> = { CANCELED: "cancelled" };

export function Status({ of }: { of: string }) {
  const word = (WORDS[of] ?? of).toLowerCase().replaceAll("_", " ");
  return (
    <span class={`status ${KINDS[of] ?? "idle"}`}>
      {word.charAt(0).toUpperCase() + word.slice(1)}
    </span>
  );
}
