/** Numbers as people read them. */

const NONE = "–";
const grouped = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const SCALES: [number, string][] = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
const BYTES = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

type Maybe = number | null | undefined;

const isKnown = (value: Maybe): value is number => value !== null && value !== undefined && Number.isFinite(value);

/** All digits, in groups of three. */
export function count(value: Maybe): string {
  return isKnown(value) ? grouped.format(value) : NONE;
}

/** Three digits that count and a letter: `12.3k`. */
export function short(value: Maybe): string {
  if (!isKnown(value)) return NONE;
  // 999.5 is not shown as 1000, but as 1.00k
  const scale = SCALES.find(([size]) => Math.abs(value) >= size * 0.9995);
  if (scale) return `${digits(value / scale[0])}${scale[1]}`;
  return Number.isInteger(value) ? String(value) : digits(value);
}

function digits(value: number): string {
  const size = Math.abs(value);
  return value.toFixed(size >= 99.95 ? 0 : size >= 9.995 ? 1 : size === 0 ? 0 : 2);
}

export function rate(value: Maybe): string {
  return isKnown(value) ? `${short(value)}/s` : NONE;
}

export function bytes(value: Maybe): string {
  if (!isKnown(value)) return NONE;
  let size = value;
  let unit = 0;
  while (Math.abs(size) >= 1023.5 && unit < BYTES.length - 1) {
    size /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? Math.round(size) : digits(size)} ${BYTES[unit]}`;
}

/** A share from 0 to 1 as a percentage. */
export function percent(value: Maybe): string {
  return isKnown(value) ? `${Math.round(value * 100)} %` : NONE;
}
