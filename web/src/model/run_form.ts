/** What is written into the form of a run. */

/** One argument on each line, so that an argument may have blanks in it. */
export function argumentsOf(text: string): string[] {
  return text.split("\n").map((line) => line.trim()).filter(Boolean);
}

/** `name: value` lines; throws an `Error` with the line that is none. */
export function settingsOf(text: string): Record<string, string> {
  const lines = text.split("\n").map((line) => line.trim()).filter((line) => line && !line.startsWith("#"));
  return Object.fromEntries(
    lines.map((line) => {
      const match = /^([^\s:=]+)\s*[:=]\s*(.*)$/.exec(line);
      if (!match) throw new Error(`“${line}” is not a setting: write name: value`);
      return [match[1]!, match[2]!];
    }),
  );
}
