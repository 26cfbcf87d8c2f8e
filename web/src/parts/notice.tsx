/** What a page says in place of what it has not. */

import type { ComponentChildren } from "preact";
import type { Polled } from "../api/polling";
import { roleProblem } from "../api/session";

export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="empty">{children}</p>;
}

export function Problem({ children }: { children: ComponentChildren }) {
  return (
    <div class="notice bad" role="alert">
      {children}
    </div>
  );
}

/** The first answer of a request: until it is there, that it is waited for, or why it will not come. */
export function Loaded<T>({ of, children }: { of: Polled<T>; children: (data: T) => ComponentChildren }) {
  if (of.data !== undefined) return <>{children(of.data)}</>;
  if (of.error && of.error.status !== 401) return <Problem>{of.error.message}</Problem>;
  return (
    <p class="empty" aria-busy="true">
      Loading…
    </p>
  );
}

/** What a page shows until the server has told what the token may do. */
export function AwaitedRole() {
  if (roleProblem.value === null) return <Empty>Loading…</Empty>;
  return <Problem>Trying again, since the server does not tell what you may do here: {roleProblem.value}</Problem>;
}
