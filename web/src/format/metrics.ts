/** Values of metrics as people read them: the name says what is measured. */

import { bytes, count, rate, short } from "./numbers";
import { duration, latency, moment } from "./times";

const NONE = "–";
/** Largest whole number that is shown with all its digits. */
const COUNTED = 1e7;
/** Watermarks before the first and after the last record are no times. */
const LAST_TIME = 8.64e15;

type Unit = (value: number) => string;

const UNITS: [RegExp, Unit][] = [
  [/watermark$/i, (value) => (Math.abs(value) < LAST_TIME ? moment(value) : NONE)],
  [/bytes\w*persecond$/i, (value) => `${bytes(value)}/s`],
  [/ms_?persecond$/i, (value) => `${short(value)} ms/s`],
  [/persecond$|_rate$/i, rate],
  [/bytes|memory|checkpointsize|statesize|fullsize/i, bytes],
  [/timestamp$/i, moment],
  [/cpu\.?time$/i, (value) => duration(value / 1e6)],
  [/latency/i, latency],
  [/(duration|uptime|downtime|lag|delay|time|ms|millis)$/i, duration],
];

/** A value of the metric `name`; what is no number stays as it is. */
export function metricText(name: string, value: number | string | null | undefined): string {
  if (value === null || value === undefined || value === "") return NONE;
  const number = typeof value === "number" ? value : Number(value);
  if (!Number.isFinite(number)) return String(value);
  const unit = UNITS.find(([names]) => names.test(unitPart(name)))?.[1];
  if (unit) return unit(number);
  return Number.isInteger(number) && Math.abs(number) < COUNTED ? count(number) : short(number);
}

/** Histograms end in what they say of their values: `..._p99`, `..._max`. A count has no unit. */
function unitPart(name: string): string {
  if (/_count$/.test(name)) return "";
  return name.replace(/_(min|max|mean|median|stddev|p\d+(_?\d+)?)$/, "");
}
