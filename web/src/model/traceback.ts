/** Python's tracebacks, taken apart so that the user's own lines come first. */

export interface Frame {
  file: string;
  line: number;
  function: string;
  code: string;
  /** Whether it is in a program of the user's, not in a library. */
  own: boolean;
}

export interface Failure {
  /** `ValueError` */
  type: string;
  message: string;
  frames: Frame[];
}

const FRAME = /^\s*File "(?<file>.+?)", line (?<line>\d+)(?:, in (?<function>.+))?$/;
const LIBRARY = /[\\/](site-packages|dist-packages|lib[\\/]python\d|pyspark(\.zip)?|py4j)[\\/]|^<frozen /;
/** Of the package, wherever it is; a directory of that name may have programs in it. */
const OURS = new RegExp(
  String.raw`[\\/]millrace[\\/](cep|cli|common|connectors|datastream|engine|expressions|filesystem|formats|graph|job_graph|metrics|notebook|planner|rest|runtime|server|spark|sql|state|state_processor|statefun|table|table_runtime|testing|util)[\\/]`,
);
/** A program that was uploaded, in the server's directory. */
const UPLOADED = /[\\/]uploads[\\/][0-9a-f]{32}_/;
const ENDING = /^(?<type>[A-Za-z_][\w.]*(?:Error|Exception|Warning|Interrupt|Exit|Group|[A-Z]\w*))(?:: (?<message>[\s\S]*))?$/;

/** The failure that the others followed from: Python prints it first. Null: `text` is no traceback. */
export function rootFailure(text: string): Failure | null {
  const start = text.indexOf("Traceback (most recent call last)");
  if (start < 0) return FRAME.test(text.split("\n")[0] ?? "") ? failureOf(text.split("\n")) : null;
  return failureOf(text.slice(start).split("\n").slice(1));
}

/** A syntax error of a program is printed without the line that tracebacks begin with. */
function failureOf(lines: string[]): Failure {
  const frames: Frame[] = [];
  const message: string[] = [];
  for (const line of lines) {
    const indented = /^\s/.test(line);
    const match = FRAME.exec(line);
    if (message.length) {
      if (line.startsWith("Traceback ") || /^(During handling|The above exception)/.test(line)) break;
      message.push(line);
    } else if (match?.groups) {
      const { file = "", line: number = "0", function: name = "" } = match.groups;
      frames.push({ file, line: Number(number), function: name, code: "", own: isOwn(file) });
    } else if (indented) {
      const last = frames.at(-1);
      if (last && !last.code && !/^\s*[\^~]+\s*$/.test(line)) last.code = line.trim();
    } else if (line.trim()) {
      message.push(line);
    }
  }
  const said = message.join("\n").trimEnd();
  const ending = ENDING.exec(said);
  return { type: ending?.groups?.["type"] ?? "", message: ending ? (ending.groups?.["message"] ?? "") : said, frames };
}

function isOwn(file: string): boolean {
  return UPLOADED.test(file) || !(LIBRARY.test(file) || OURS.test(file));
}

/** What failed in one line: the type and the first line of the message. */
export function headline(text: string): string {
  const failure = rootFailure(text);
  if (!failure) return text.trim().split("\n")[0] ?? "";
  const first = failure.message.split("\n")[0] ?? "";
  return failure.type && first ? `${failure.type}: ${first}` : failure.type || first;
}
