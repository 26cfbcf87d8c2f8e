/** A line over time with its name and its newest value. uPlot draws it; it is loaded when it is needed. */

import type uPlot from "uplot";
import { useEffect, useRef } from "preact/hooks";
import { duration } from "../format/times";
import { spanned } from "../model/measurements";
import { isDark } from "./theme";

export interface Series {
  /** Seconds since the epoch. */
  times: number[];
  values: (number | null)[];
}

interface Props {
  title: string;
  series: Series;
  format: (value: number | null) => string;
  /** The upper end of the axis, if it is always the same. */
  top?: number | undefined;
  /** Charts of one group have a common cursor. */
  group: string;
  /** Distances that the lines of the grid may have; uPlot's own are powers of ten. */
  steps?: number[] | undefined;
  /** Whether the values are times, in ms since the epoch: the axis does not begin at 0 then. */
  moments?: boolean;
}

/** Least span of an axis of times, in ms, so that a time that stands still has a line in the middle. */
const LEAST_SPAN = 2000;
const HEIGHT = 132;

export function Chart({ title, series, format, top, group, steps, moments = false }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const newest = useRef(series);
  newest.current = series;
  const known = series.values.filter((value) => value !== null);
  const dark = isDark.value;
  useEffect(() => {
    const place = box.current;
    if (!place) return;
    let gone = false;
    const watcher = new ResizeObserver(() => plot.current?.setSize({ width: place.clientWidth, height: HEIGHT }));
    void import("uplot").then(({ default: UPlot }) => {
      if (gone) return;
      const { times, values } = newest.current;
      plot.current = new UPlot(options(place, format, top, group, steps, moments), [times, values], place);
      watcher.observe(place);
    });
    return () => {
      gone = true;
      watcher.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [dark, group, top]);
  useEffect(() => plot.current?.setData([series.times, series.values]), [series]);
  const last = series.values.findLast((value) => value !== null) ?? null;
  return (
    <figure class="chart">
      <figcaption>
        <span>{title}</span>
        <strong>{format(last)}</strong>
      </figcaption>
      <div ref={box} class="plot" role="img" aria-label={summary(title, series, known, format)} />
      {known.length === 0 && <p class="unknown">Nothing measured yet</p>}
    </figure>
  );
}

function summary(title: string, { times }: Series, known: number[], format: Props["format"]): string {
  if (!known.length) return `${title}: nothing measured yet`;
  const span = duration(((times.at(-1) ?? 0) - (times[0] ?? 0)) * 1000);
  const [least, most] = [Math.min(...known), Math.max(...known)];
  return `${title} in the last ${span}: now ${format(known.at(-1) ?? null)}, lowest ${format(least)}, highest ${format(most)}`;
}

function options(
  place: HTMLElement, format: Props["format"], top: number | undefined, group: string, steps: number[] | undefined, moments: boolean,
): uPlot.Options {
  const colour = (name: string): string => colourOf(place, name);
  const axis = { stroke: colour("--plot-text"), grid: { stroke: colour("--plot-grid"), width: 1 }, ticks: { show: false } };
  const font = `11px ${getComputedStyle(document.body).fontFamily}`;
  return {
    width: place.clientWidth,
    height: HEIGHT,
    padding: [8, 18, 0, 0],
    legend: { show: false },
    cursor: { y: false, sync: { key: group }, points: { size: 7 }, drag: { x: false, y: false } },
    scales: { x: { range: (plot, low, high) => spanned(plot.data[0], low, high) }, y: { range: (_, low, high) => (moments ? around(low, high) : [Math.min(0, low), top ?? (high > 0 ? high * 1.1 : 1)]) } },
    series: [
      {},
      {
        stroke: colour("--plot-line"),
        fill: colour("--plot-fill"),
        width: 1.5,
        points: { show: (_, __, first, last) => first === last, size: 5 },
        spanGaps: false,
      },
    ],
    axes: [
      { ...axis, font, size: 24, space: 72, grid: { show: false }, values: clockTicks },
      { ...axis, font, size: 58, space: 34, ...(steps ? { incrs: steps } : {}), values: (plot, ticks) => labels(plot, ticks, format, moments) },
    ],
    plugins: [tooltip(format)],
  };
}

/** The ends of an axis of times. */
function around(low: number, high: number): [number, number] {
  const margin = Math.max(LEAST_SPAN, high - low) * 0.1;
  const missing = Math.max(0, LEAST_SPAN - (high - low)) / 2;
  return [low - missing - margin, high + missing + margin];
}

/** None where nothing was measured: there the ends of the axis mean nothing. */
function labels(plot: uPlot, ticks: number[], format: Props["format"], moments: Props["moments"]): string[] {
  const known = plot.data[1]?.some((value) => value !== null && value !== undefined);
  if (known && moments) return clockTicks(plot, ticks.map((tick) => tick / 1000));
  return ticks.map((tick) => (known ? format(tick) : ""));
}

/** A canvas knows no custom properties, and those of two themes must be settled first. */
function colourOf(place: HTMLElement, name: string): string {
  const probe = place.appendChild(document.createElement("span"));
  probe.style.color = `var(${name})`;
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}

const two = (value: number): string => String(value).padStart(2, "0");

function clockTicks(_: uPlot, ticks: number[]): string[] {
  const seconds = ticks.some((tick) => tick % 60 !== 0);
  return ticks.map((tick) => {
    const at = new Date(tick * 1000);
    return `${two(at.getHours())}:${two(at.getMinutes())}${seconds ? `:${two(at.getSeconds())}` : ""}`;
  });
}

/** The value under the cursor, beside it. */
function tooltip(format: Props["format"]): uPlot.Plugin {
  const label = document.createElement("div");
  label.className = "tip";
  return {
    hooks: {
      init: (plot) => void plot.over.append(label),
      setCursor: (plot) => {
        const index = plot.cursor.idx;
        const value = index === null || index === undefined ? null : (plot.data[1]?.[index] ?? null);
        const left = plot.cursor.left ?? -1;
        label.hidden = value === null || left < 0;
        if (label.hidden) return;
        label.textContent = format(value);
        label.style.translate = `${left > plot.over.clientWidth / 2 ? left - label.offsetWidth - 8 : left + 8}px 0`;
      },
    },
  };
}
