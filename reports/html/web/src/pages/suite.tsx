// A suite of a site: its modules by column, and its runs over time with their causes. Not for its
// tests (suite_tests.tsx).

import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";

import { Name, Part } from "../parts";
import { link, type Route } from "../route";
import { brokenIn, type ModuleRow, type Point, type Site, share, testsIn } from "../site";
import { counted, date, duration, number, percent, safeUrl, visible, words } from "../text";
import { cellName, RateBox, reportLink, StatesBar, useFilter } from "./site";

export function SuitePage({ site, route }: { site: Site; route: Route }) {
  return (
    <section>
      <p class="crumbs"><a href={`${site.root}index.html`}>All suites</a></p>
      <h1><Name text={site.suite ?? ""} length={160} /></h1>
      <nav class="chips" aria-label="Of this suite"><a class="chip" href={link("")} aria-current={route.page === "" ? "page" : undefined}>Modules</a>
        <a class="chip" href={link("history")} aria-current={route.page === "history" ? "page" : undefined}>Runs over time</a>
        <a class="chip" href={link("causes")} aria-current={route.page === "causes" ? "page" : undefined}>Causes over time</a></nav>
      {route.page === "history" || route.page === "causes"
        ? <Part<Point[][]> name="history">{(history) => <Over site={site} history={history} causes={route.page === "causes"} />}</Part>
        : <><Columns site={site} /><Part<ModuleRow[]> name="modules">{(modules) => <Modules site={site} modules={modules} />}</Part></>}
    </section>
  );
}

const Columns = ({ site }: { site: Site }) => (
  <div class="wide" tabIndex={0} role="region" aria-label="Newest runs">
    <table>
      <thead><tr><th>Column</th><th>Pass rate</th><th>States</th><th>Newest run</th><th class="right">Took</th><th>Badge</th></tr></thead>
      <tbody>{site.cells.map((cell, at) => (
        <tr key={at}>
          <td>{visible(cellName(cell))}<div class="sub">{visible(cell.way)}</div></td>
          <td><RateBox rate={cell.now.rate} href={reportLink(site.root, cell.now, cell.now.rate[0] === "exercised" ? "#/tests?mark=used_accelerator" : "#/tests", link("history"))} /></td>
          <td class="barcell"><StatesBar run={cell.now} /><span class="sub"><a href={reportLink(site.root, cell.now, "#/tests", link("history"))}>{counted(testsIn(cell.now), "test")}</a>, <a href={reportLink(site.root, cell.now, "#/errors", link("causes"))}>{number(brokenIn(cell.now))} broken</a></span></td>
          <td><a href={reportLink(site.root, cell.now, "#/", link("history"))}>{date(cell.now.started)}</a><div class="sub"><Name text={cell.now.id} length={80} /></div></td>
          <td class="right">{duration(cell.now.duration_s)}</td>
          <td><a href={site.root + safeUrl(cell.badge)}>SVG</a></td>
        </tr>))}</tbody>
    </table>
  </div>
);

const kShown = 500;
function Modules({ site, modules }: { site: Site; modules: ModuleRow[] }) {
  const [field, matches, q] = useFilter("Search modules, or paste a test's id", "Search modules, or paste a test's id");
  // A whole id leads to its module.
  const found = modules.filter(([path]) => matches(path) || q.startsWith(`${path}::`));
  const worst = (row: ModuleRow) => row[2].reduce((sum, cell) => sum + (cell ? cell[2] : 0), 0);
  const sorted = [...found].sort((a, b) => worst(b) - worst(a) || (a[0] < b[0] ? -1 : 1));
  return (
    <>
      <h2>Modules <small>{counted(modules.length, "module")}, most broken tests first</small></h2>
      {field}
      <div class="wide" tabIndex={0} role="region" aria-label="Modules by column">
        <table class="matrix">
          <thead><tr><th scope="col">Module</th>{site.cells.map((cell, at) => <th key={at} scope="col">{visible(cellName(cell))}</th>)}</tr></thead>
          <tbody>{sorted.slice(0, kShown).map(([path, page, cells]) => {
            const target = q.startsWith(`${path}::`) ? link("test", q) : link("module", path);
            return (
              <tr key={path}><th scope="row">{page ? <a href={page + target}><Name text={path} length={200} /></a> : <Name text={path} length={200} />}</th>
                {site.cells.map((cell, at) => {
                  const counts = cells[at];
                  if (!counts) return <td key={at}><span class="sub">not run</span></td>;
                  const [rate, tests, broken, seconds] = counts;
                  return <td key={at}><RateBox rate={rate} href={reportLink(site.root, cell.now, `#/tests?folder=${encodeURIComponent(path)}`, page + target)} />
                    <div class="sub"><a href={page + target}>{counted(tests, "test")}</a>{broken > 0 && <>, <a class="worse" href={page + target}>{number(broken)} broken</a></>}, {duration(seconds)}</div></td>;
                })}</tr>);
          })}</tbody>
        </table>
      </div>
      {sorted.length > kShown && <p class="sub">and {number(sorted.length - kShown)} more; search to narrow</p>}
      {sorted.length === 0 && <p>No matching modules.</p>}
    </>
  );
}

function Over({ site, history, causes }: { site: Site; history: Point[][]; causes: boolean }) {
  return <>{site.cells.map((cell, at) => {
    const points = history[at] ?? [];
    const names = causes ? [...new Set(points.flatMap((point) => Object.keys(point.trend.causes)))] : [];
    const sum = (name: string) => points.reduce((all, point) => all + (point.trend.causes[name] ?? 0), 0);
    names.sort((a, b) => sum(b) - sum(a));
    const lines = causes ? names.slice(0, 6).map((name) => ({ label: words(name), values: points.map((point) => point.trend.causes[name] ?? 0) }))
      : [{ label: "pass rate, %", values: points.map((point) => { const value = share(point.rate); return value === undefined ? null : 100 * value; }) }];
    return (
      <div key={at}>
        <h2>{visible(cellName(cell))} <small>{visible(cell.way)}</small></h2>
        {points.length > 1 && lines.length > 0 && <Chart times={points.map((point) => Date.parse(point.started) / 1000)} lines={lines} label={`${cellName(cell)}: ${causes ? "broken tests by cause" : "pass rate"}, by run; the table below has the numbers`} />}
        <div class="wide" tabIndex={0} role="region" aria-label={`Runs of ${cellName(cell)}`}>
          <table>
            <thead>{causes ? <tr><th>Run</th>{names.map((name) => <th key={name} class="right">{words(name)}</th>)}</tr>
              : <tr><th>Run</th><th class="right">Pass rate</th><th>States</th><th class="right">Broken</th><th class="right">Flaky</th><th class="right">New errors</th><th class="right">Gone errors</th><th class="right">Gaps opened</th><th class="right">Closed</th><th class="right">Took</th></tr>}</thead>
            <tbody>{[...points].reverse().map((point) => (
              <tr key={point.id}><td>{point.report ? <a href={site.root + point.report}>{date(point.started)}</a> : date(point.started)}<div class="sub">torch {visible(point.torch) || "none"}{point.commit && <>, <Name text={point.commit.slice(0, 10)} /></>}</div></td>
                {causes ? names.map((name) => <td key={name} class="right">{point.report && point.trend.causes[name] ? <a href={`${site.root}${point.report}#/tests?cause=${encodeURIComponent(name)}`}>{number(point.trend.causes[name]!)}</a> : number(point.trend.causes[name] ?? 0)}</td>)
                  : <><td class="right">{percent(point.rate[1], point.rate[2])}</td><td class="barcell"><StatesBar run={point} /></td><td class="right">{number(brokenIn(point))}</td><td class="right">{number(point.trend.flaky)}</td>
                    <td class="right">{number(point.trend.new_signatures)}</td><td class="right">{number(point.trend.gone_signatures)}</td><td class="right">{number(point.trend.gaps_opened)}</td><td class="right">{number(point.trend.gaps_closed)}</td><td class="right">{duration(point.duration_s)}</td></>}
              </tr>))}</tbody>
          </table>
        </div>
      </div>
    );
  })}</>;
}

const kColours = ["--accent", "--failed", "--errored", "--crashed", "--timed_out", "--xpassed"];
function Chart({ times, lines, label }: { times: number[]; lines: { label: string; values: (number | null)[] }[]; label: string }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const color = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    let chart: uPlot | undefined;
    const width = () => Math.max(260, element.clientWidth);
    const draw = () => {
      chart?.destroy();
      const axis = { stroke: color("--muted"), grid: { stroke: color("--line"), width: 1 }, ticks: { stroke: color("--line") } };
      chart = new uPlot({ width: width(), height: 200, scales: { x: { time: true } }, axes: [axis, { ...axis, size: 60 }],
        series: [{}, ...lines.map((line, at) => ({ label: line.label, stroke: color(kColours[at % kColours.length]!), width: 2, points: { show: true } }))] },
      [times, ...lines.map((line) => line.values)], element);
    };
    draw();
    const theme = new MutationObserver(draw);
    theme.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    const size = new ResizeObserver(() => chart?.setSize({ width: width(), height: 200 }));
    size.observe(element);
    return () => { theme.disconnect(); size.disconnect(); chart?.destroy(); };
  }, [times.length, label]);
  return <div class="chart" ref={place} role="img" aria-label={label} />;
}
