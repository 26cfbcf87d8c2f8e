/** The heading of a page; the window is named after it. */

import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";

export function Heading({ title, children }: { title: string; children?: ComponentChildren }) {
  useEffect(() => {
    document.title = `${title} · Millrace`;
  }, [title]);
  return (
    <div class="heading">
      <h1>{title}</h1>
      {children}
    </div>
  );
}
