/** Times and durations as people read them. */

const NONE = "–";
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

type Maybe = number | null | undefined;

/** Two units that count: `2 d 3 h`, `1 m 5 s`, `350 ms`. */
export function duration(ms: Maybe): string {
  if (ms === null || ms === undefined || !Number.isFinite(ms)) return NONE;
  if (ms < 0) return `-${duration(-ms)}`;
  if (ms < SECOND) return `${Math.round(ms)} ms`;
  if (ms < 10 * SECOND) return `${(ms / SECOND).toFixed(1)} s`;
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)} s`;
  if (ms < HOUR) return pair(ms, MINUTE, "m", SECOND, "s");
  if (ms < DAY) return pair(ms, HOUR, "h", MINUTE, "m");
  return pair(ms, DAY, "d", HOUR, "h");
}

/** A duration that may be far below a millisecond: `0.35 ms`, `12 ms`. */
export function latency(ms: Maybe): string {
  if (ms === null || ms === undefined || !Number.isFinite(ms) || ms < 0 || ms >= 10) return duration(ms);
  return `${ms.toFixed(ms < 1 ? 2 : 1)} ms`;
}

function pair(ms: number, large: number, name: string, small: number, smallName: string): string {
  const rest = Math.floor((ms % large) / small);
  return `${Math.floor(ms / large)} ${name}${rest ? ` ${rest} ${smallName}` : ""}`;
}

/** How long ago something was. A clock that runs behind the server's gives 0, nothing negative. */
export function since(time: Maybe, now: number): string {
  return time === null || time === undefined || time <= 0 ? NONE : duration(Math.max(0, now - time));
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** Date and time of day where the reader is: `24 Nov 2026, 13:05:09`. */
export function moment(time: Maybe): string {
  if (time === null || time === undefined || time <= 0) return NONE;
  const at = new Date(time);
  const day = `${at.getDate()} ${MONTHS[at.getMonth()]} ${at.getFullYear()}`;
  return `${day}, ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

/** Like `moment`, without the day if it is that of `now`. */
export function clock(time: Maybe, now: number): string {
  const [day, at] = moment(time).split(", ");
  return at && day === moment(now).split(", ")[0] ? at : moment(time);
}

function two(value: number): string {
  return String(value).padStart(2, "0");
}
