/** A row of figures, each with its name. */

import type { ComponentChildren } from "preact";

export interface Fact {
  name: string;
  value: ComponentChildren;
  /** Said when the pointer rests on it. */
  hint?: string;
  tone?: "warn" | "bad" | undefined;
}

export function Facts({ facts, label }: { facts: Fact[]; label: string }) {
  return (
    <dl class="facts" aria-label={label}>
      {facts.map(({ name, value, hint, tone }) => (
        <div key={name} title={hint}>
          <dt>{name}</dt>
          <dd class={tone}>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
