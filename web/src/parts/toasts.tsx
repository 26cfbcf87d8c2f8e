/** Short messages about what was done; screen readers speak them. */

import { signal } from "@preact/signals";

interface Toast {
  id: number;
  text: string;
  bad: boolean;
}

const SHOWN_MS = 9000;
const toasts = signal<Toast[]>([]);
let made = 0;

const remove = (id: number): void => {
  toasts.value = toasts.value.filter((toast) => toast.id !== id);
};

export function tell(text: string, bad = false): void {
  const id = ++made;
  toasts.value = [...toasts.value, { id, text, bad }];
  // what went wrong stays until it was read
  if (!bad) setTimeout(() => remove(id), SHOWN_MS);
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, text, bad }) => (
        <div key={id} class={bad ? "toast bad" : "toast"}>
          <span>{text}</span>
          <button type="button" class="icon" aria-label="Dismiss this message" onClick={() => remove(id)}>
            ×
          </button>
        </div>
      ))}
    </div>
  );
}
