/** Lines of a log: how grave they are, and as many as fit. */

const LEVEL = /\b(DEBUG|WARN(?:ING)?|ERROR|CRITICAL|FATAL)\b/;

/** `debug`, `warn`, `error`, or nothing for what is usual. */
export function levelOf(line: string): string {
  const level = LEVEL.exec(line.slice(0, 120))?.[1];
  if (!level) return "";
  if (level === "DEBUG") return "debug";
  return level.startsWith("WARN") ? "warn" : "error";
}

/** The end of a text, from the beginning of a line, and how many bytes were dropped before it. */
export function newest(text: string, most: number): { text: string; dropped: number } {
  if (text.length <= most) return { text, dropped: 0 };
  const cut = text.indexOf("\n", text.length - most) + 1;
  return { text: text.slice(cut), dropped: new TextEncoder().encode(text.slice(0, cut)).length };
}
