/** A question that must be answered before something is done. */

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { tell } from "./toasts";

interface Props {
  title: string;
  /** What the button says that does it. */
  action: string;
  /** For what cannot be taken back. */
  danger?: boolean;
  children?: ComponentChildren;
  /** Does it; the text that is told when it is done. */
  run: () => Promise<string>;
  close: () => void;
}

export function Dialog({ title, action, danger = false, children, run, close }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    const asker = document.activeElement as HTMLElement | null;
    dialog.current?.showModal();
    return () => asker?.focus();
  }, []);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setProblem("");
    try {
      tell(await run());
      close();
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
      setBusy(false);
    }
  };
  return (
    <dialog ref={dialog} aria-labelledby={heading} onClose={close}>
      <form onSubmit={(event) => void submit(event)}>
        <h2 id={heading}>{title}</h2>
        {children}
        <p class="problem" role="alert">{problem}</p>
        <div class="actions end">
          <button type="button" class="button" onClick={() => dialog.current?.close()}>
            Back
          </button>
          <button type="submit" class={danger ? "button danger" : "button primary"} disabled={busy}>
            {busy ? "Working…" : action}
          </button>
        </div>
      </form>
    </dialog>
  );
}
