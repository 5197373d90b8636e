// The runs of a series over time, as a chart and as a table.

import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";

import type { HistoryPoint } from "../data";
import { kStates } from "../states";
import { Bar, Name } from "../parts";
import { kAttention } from "../table";
import { date, number } from "../text";

const sum = (states: Record<string, number>, names: string[]) => names.reduce((total, name) => total + (states[name] ?? 0), 0);

export function HistoryPage({ history, current }: { history: HistoryPoint[]; current: string }) {
  return (
    <section>
      <h1>History <small>of this series</small></h1>
      {history.length < 2 ? <p>The chart appears after the second run of the series.</p> : <Chart history={history} />}
      <div class="wide" tabIndex={0} role="region" aria-label="Runs">
        <table>
          <thead><tr><th>Run</th><th>Started</th><th class="right">Tests</th><th class="right">Passed</th><th class="right">Broke</th><th class="right">Skipped</th><th>States</th></tr></thead>
          <tbody>
            {[...history].reverse().map((point) => {
              const total = sum(point.states, kStates);
              return (
                <tr key={point.id} class={point.id === current ? "current" : ""}>
                  <td><Name text={point.id} />{!point.complete && " (not complete)"}</td><td>{date(point.started)}</td>
                  <td class="right">{number(total)}</td><td class="right">{number(point.states.passed)}</td>
                  <td class="right">{number(sum(point.states, kAttention))}</td><td class="right">{number(point.states.skipped)}</td>
                  <td class="barcell"><Bar states={kStates.map((state) => [state, point.states[state] ?? 0])} total={total} /></td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Chart({ history }: { history: HistoryPoint[] }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const color = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    const axis = { stroke: color("--muted"), grid: { stroke: color("--line"), width: 1 }, ticks: { stroke: color("--line") } };
    const width = () => Math.max(280, element.clientWidth);
    let chart: uPlot | undefined;
    const draw = () => {
      chart?.destroy();
      chart = new uPlot(
        {
          width: width(), height: 260, scales: { x: { time: true } },
          // Passed tests have a scale of their own: beside them the others would be a flat line.
          axes: [axis, { ...axis, size: 60, label: "broke, skipped" }, { ...axis, scale: "passed", side: 1, size: 60, grid: { show: false }, label: "passed" }],
          series: [
            {},
            { label: "passed", scale: "passed", stroke: color("--passed"), width: 2, points: { show: true } },
            { label: "broke", stroke: color("--failed"), width: 2, points: { show: true } },
            { label: "skipped", stroke: color("--skipped"), width: 2, points: { show: true } },
          ],
        },
        [
          history.map((point) => Date.parse(point.started) / 1000),
          history.map((point) => point.states.passed),
          history.map((point) => sum(point.states, kAttention)),
          history.map((point) => point.states.skipped),
        ],
        element);
    };
    draw();
    // Colours change with the theme.
    const theme = new MutationObserver(draw);
    theme.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    const size = new ResizeObserver(() => chart?.setSize({ width: width(), height: 260 }));
    size.observe(element);
    return () => { theme.disconnect(); size.disconnect(); chart?.destroy(); };
  }, [history]);
  return <div class="chart" ref={place} role="img" aria-label="Tests that passed, broke and were skipped, by run; the table below has the numbers" />;
}
