/** A part of a page with a heading of its own. */

import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

interface Props {
  title: string;
  /** Stands at the right of the heading. */
  tools?: ComponentChildren;
  /** Whether what is inside reaches the panel's edges. */
  flush?: boolean;
  children: ComponentChildren;
}

export function Panel({ title, tools, flush = false, children }: Props) {
  const id = useId();
  return (
    <section class={flush ? "panel flush" : "panel"} aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
        {tools && <div class="tools">{tools}</div>}
      </header>
      {children}
    </section>
  );
}
