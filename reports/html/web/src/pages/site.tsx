// The pages of a site: the matrix of all suites with what changed, a suite, and its tests over their
// runs. Not for one run's report (overview.tsx).

import { useState } from "preact/hooks";
import type { ComponentChildren } from "preact";

import type { Gap } from "../data";
import { kStates } from "../states";
import { Bar, Name, Part, Some } from "../parts";
import { link, type Route } from "../route";
import { brokenIn, type Break, type Cell, type Change, grade, type Lists, type Rate, sameEvents, type ShortRun, type Signature, type Site, type SiteTest, share, stateOf, testsIn } from "../site";
import { counted, date, duration, number, percent, visible, words } from "../text";
import { GapList } from "./lists";

export const kSiteTabs = [
  { page: "", text: "Matrix" }, { page: "changes", text: "What changed" }, { page: "flaky", text: "Flaky" },
  { page: "causes", text: "Causes" }, { page: "gaps", text: "Gaps" }, { page: "growth", text: "Slower tests" },
];

export function SitePage({ site, route }: { site: Site; route: Route }) {
  if (site.cells.length === 0) return <section><h1>Compatibility</h1><Problems site={site} /><p>No complete run is stored yet.</p></section>;
  if (route.page === "") return <Matrix site={site} />;
  if (route.page === "gaps") return <section><h1>Gaps <small>device APIs that tests missed, by tests blocked over all suites</small></h1><Part<Gap[]> name="gaps">{(gaps) => <GapList gaps={gaps} none="No run met a gap." />}</Part></section>;
  if (route.page === "changes") return <Changes site={site} route={route} />;
  return <Part<Lists> name="lists">{(lists) =>
    route.page === "flaky" ? <Flaky site={site} lists={lists} route={route} />
      : route.page === "causes" ? <Causes site={site} lists={lists} />
        : route.page === "growth" ? <Slower site={site} lists={lists} />
          : <section><h1>No such page</h1><p><a href={link("")}>Matrix</a></p></section>}</Part>;
}

const attention = "failed,errored,crashed,timed_out";
// Where a run's numbers lead: to its published report, else to the page of its suite.
export const reportLink = (root: string, run: { report: string | null }, hash: string, otherwise: string) =>
  (run.report ? `${root}${run.report}${hash}` : otherwise);
export const cellName = (cell: { column: string; torch: string }) => `${cell.column}${cell.torch ? `, torch ${cell.torch}` : ""}`;

export function RateBox({ rate, href, note }: { rate: Rate; href: string; note?: string }) {
  const text = rate[2] === 0 ? (rate[0] === "exercised" ? "device not used" : "no tests ran") : percent(rate[1], rate[2]);
  const what = rate[0] === "exercised" ? "tests that used the device" : "tests that ran";
  return <a class={`rate ${grade(rate)}`} href={href} title={`${number(rate[1])} of ${number(rate[2])} ${what}`}>
    <strong>{text}</strong>{rate[2] > 0 && <small>{number(rate[1])} of {number(rate[2])}{note}</small>}</a>;
}

function Delta({ cell }: { cell: Cell }) {
  const now = share(cell.now.rate), before = cell.before ? share(cell.before.rate) : undefined;
  if (!cell.before) return <span class="sub">first run</span>;
  if (now === undefined || before === undefined) return <span class="sub">–</span>;
  const points = 100 * (now - before);
  const text = Math.abs(points) < 0.005 ? "no change" : `${points > 0 ? "▲ +" : "▼ −"}${Math.abs(points).toFixed(Math.abs(points) < 0.1 ? 2 : 1)} points`;
  return <span class={points < -0.005 ? "worse" : points > 0.005 ? "better" : "sub"}>{text}</span>;
}

// Cells that the newest night could not run: what the matrix shows of them is older.
function Problems({ site }: { site: Site }) {
  const problems = site.problems ?? [];
  if (problems.length === 0) return null;
  return (
    <>
      <p class="big worse">{counted(problems.length, "cell")} could not run in the last night</p>
      <ul class="plain"><Some items={problems} first={10} what="cells">{(one) => (
        <li key={`${one.suite} ${one.column} ${one.torch}`}><strong><Name text={one.suite} length={80} /></strong>{" "}
          <span class="tag">{visible(cellName(one))}</span> <Name text={one.why} length={300} /></li>
      )}</Some></ul>
    </>
  );
}

// A run's published report; of another run, its suite's runs over time.
function RunLink({ site, cell, id }: { site: Site; cell: Cell; id: string }) {
  const history = `${site.root}${cell.page}#/history`;
  return <a href={id === cell.now.id ? reportLink(site.root, cell.now, "#/", history) : history}><Name text={id} length={120} /></a>;
}

function Matrix({ site }: { site: Site }) {
  const columns = [...new Set(site.cells.map((cell) => cell.column))].sort();
  const rows = new Map<string, { suite: string; torch: string; page: string; cells: Map<string, number> }>();
  site.cells.forEach((cell, at) => {
    const key = `${cell.suite}\n${cell.torch}`;
    const row = rows.get(key) ?? { suite: cell.suite, torch: cell.torch, page: cell.page, cells: new Map() };
    row.cells.set(cell.column, at);
    rows.set(key, row);
  });
  const broke = site.cells.reduce((sum, cell) => sum + cell.broke, 0);
  const fixed = site.cells.reduce((sum, cell) => sum + cell.fixed, 0);
  const flaky = site.cells.reduce((sum, cell) => sum + cell.flaky, 0);
  const broken = site.cells.reduce((sum, cell) => sum + brokenIn(cell.now), 0);
  const isFirst = site.cells.every((cell) => !cell.before);
  const last = site.cells.map((cell) => cell.now.started).sort().at(-1)!;
  const suites = new Set(site.cells.map((cell) => cell.suite)).size;
  return (
    <section>
      <h1>Which tests pass on which device</h1>
      <p class="big">{isFirst ? "First runs, so nothing to compare with" : <>
        {broke > 0 ? <a class="worse" href={link("changes")}>{counted(broke, "test")} broke</a> : <a class="better" href={link("changes")}>Nothing broke</a>} in the newest runs;{" "}
        <a href={link("changes", "", { show: "fixed" })}>{number(fixed)} fixed</a>, <a href={link("flaky")}>{number(flaky)} flaky</a></>}, <a href={link("changes")}>{number(broken)} broken in all</a></p>
      <p class="sub">{counted(suites, "suite")}, {counted(columns.length, "column")}, newest run {date(last)}. A rate counts the tests that used the column's device; on a CPU, those that ran.</p>
      <Problems site={site} />
      <div class="wide" tabIndex={0} role="region" aria-label="Pass rates by suite and column">
        <table class="matrix">
          <thead><tr><th scope="col">Suite</th>{columns.map((column) => <th key={column} scope="col"><Name text={column} length={120} /></th>)}</tr></thead>
          <tbody>{[...rows.values()].map((row) => (
            <tr key={`${row.suite} ${row.torch}`}>
              <th scope="row"><a href={site.root + row.page}><Name text={row.suite} length={100} /></a><div class="sub">{row.torch ? `torch ${visible(row.torch)}` : "no torch"}</div></th>
              {columns.map((column) => {
                const at = row.cells.get(column);
                return <td key={column}>{at === undefined ? <span class="sub">not run</span> : <MatrixCell site={site} at={at} />}</td>;
              })}
            </tr>))}</tbody>
        </table>
      </div>
      <Breaks site={site} newest />
    </section>
  );
}

function MatrixCell({ site, at }: { site: Site; at: number }) {
  const cell = site.cells[at]!;
  const suite = `${site.root}${cell.page}#/?cell=${at - site.cells.findIndex((one) => one.suite === cell.suite)}`;
  const filter = cell.now.rate[0] === "exercised" ? "#/tests?mark=used_accelerator" : "#/tests";
  const broken = brokenIn(cell.now);
  return (
    <>
      <RateBox rate={cell.now.rate} href={reportLink(site.root, cell.now, filter, suite)} />
      <div class="cell-facts"><Delta cell={cell} />
        {cell.broke > 0 && <a class="worse" href={link("changes", "", { cell: String(at) })}>{number(cell.broke)} broke</a>}
        {cell.fixed > 0 && <a class="better" href={link("changes", "", { cell: String(at), show: "fixed" })}>{number(cell.fixed)} fixed</a>}
        <a href={reportLink(site.root, cell.now, `#/tests?state=${encodeURIComponent(attention)}`, suite)}>{number(broken)} broken</a></div>
      <a class="sub" href={reportLink(site.root, cell.now, "#/", suite)}>{date(cell.now.started)}</a>
      {cell.unfinished && <div class="sub">a newer run is not complete</div>}
    </>
  );
}

export function ChangeList({ environment, known, commit }: { environment: Change[]; known: boolean; commit?: [string | null, string | null] }) {
  const source = commit && commit[0] !== commit[1] && (commit[0] || commit[1]);
  if (!known) return <p class="sub">What changed is not known: a run has no fingerprint.</p>;
  if (environment.length === 0 && !source) return <p class="sub">Nothing that the runs' fingerprints hold changed.</p>;
  const all: Change[] = [...(source ? [["commit", commit[0], commit[1]] as Change] : []), ...environment];
  return (
    <ul class="plain changed"><Some items={all} first={6} what="changes">{([name, before, after]) => (
      <li key={name}><strong><Name text={name} length={100} /></strong> <Name text={before ?? "none"} length={120} /> → <Name text={after ?? "none"} length={120} /></li>
    )}</Some></ul>
  );
}

export const SiteTestLink = ({ root, test }: { root: string; test: SiteTest }) => (
  <a href={root + test.page + link("test", test.id)}><Name text={test.id} length={300} /></a>
);

function Breaks({ site, newest, cell }: { site: Site; newest?: boolean; cell?: number | undefined }) {
  return <Part<Break[]> name="breaks">{(all) => {
    const shown = all.filter((one) => (!newest || one.newest) && (cell === undefined || one.cell === cell));
    if (shown.length === 0) return newest ? <></> : <p>No test is broken.</p>;
    return (
      <>
        <h2>{newest ? "Broke in the newest runs" : "Broken since"}</h2>
        <ul class="cards"><Some items={sameEvents(site, shown)} first={newest ? 10 : 30} what="groups">{({ one, all: columns }) => {
          const its = site.cells[one.cell]!;
          return (
            <li key={`${one.cell} ${one.first_bad}`}>
              <div class="cause-head"><strong>{counted(one.tests, "test")}</strong> <a href={site.root + its.page}><Name text={its.suite} length={80} /></a>{" "}
                {columns.map((each) => <span key={each.cell} class="tag">{visible(cellName(site.cells[each.cell]!))}</span>)}
                <span class="sub">since {date(one.since)}{!one.last_good && ", in all stored runs"}</span></div>
              {one.last_good && <ChangeList environment={one.environment} known={one.known} commit={[one.commit_before, one.commit]} />}
              {columns.map((each) => <p key={each.cell} class="sub">{columns.length > 1 && `${visible(cellName(site.cells[each.cell]!))}: `}
                {each.last_good && <>last good <RunLink site={site} cell={site.cells[each.cell]!} id={each.last_good} />, </>}first bad <RunLink site={site} cell={site.cells[each.cell]!} id={each.first_bad} /></p>)}
              <details open={newest ?? false}><summary>{one.tests > one.first.length ? `first ${number(one.first.length)} of ${counted(one.tests, "test")}` : counted(one.tests, "test")}</summary>
                <ul class="plain"><Some items={one.first} first={5} what="tests">{(test) => (
                  <li key={test.id}><SiteTestLink root={site.root} test={test} />{test.error && <code class="line"><Name text={test.error} length={300} /></code>}</li>
                )}</Some></ul></details>
            </li>
          );
        }}</Some></ul>
      </>
    );
  }}</Part>;
}

// The versions of torch in the newest night, side by side.
function TorchPairs({ site }: { site: Site }) {
  const pairs = site.torch_pairs ?? [];
  if (pairs.length === 0) return null;
  const state = (one: string | null) => (one ? words(one) : "not there");
  return (
    <>
      <h2>Versions of torch in the last night</h2>
      <ul class="cards">{pairs.map((pair) => (
        <li key={`${pair.suite} ${pair.column} ${pair.newer}`}>
          <div class="cause-head"><strong>{visible(`${pair.older} → ${pair.newer}`)}</strong> <Name text={pair.suite} length={80} /> <span class="tag">{visible(pair.column)}</span></div>
          <ul class="plain"><Some items={pair.tests} first={10} what="tests">{([id, change, older, newer, before, now]) => (
            <li key={id}><span class={`tag ${change === "fixed" ? "better" : "worse"}`}>{change}</span> <Name text={id} length={300} /> <span class="sub">{state(older)} → {state(newer)}</span>
              {before && <code class="line"><Name text={`${pair.older}: ${before}`} length={300} /></code>}
              {now && <code class="line"><Name text={`${pair.newer}: ${now}`} length={300} /></code>}</li>
          )}</Some></ul>
        </li>))}</ul>
    </>
  );
}

function Changes({ site, route }: { site: Site; route: Route }) {
  const cell = route.query.has("cell") ? Number(route.query.get("cell")) : undefined;
  const its = cell === undefined ? undefined : site.cells[cell];
  return (
    <section>
      <h1>What changed {its && <small><Name text={`${its.suite}: ${cellName(its)}`} length={160} /> <a href={link("changes")}>show all</a></small>}</h1>
      <div class="wide" tabIndex={0} role="region" aria-label="Changes by suite and column">
        <table>
          <thead><tr><th>Suite</th><th>Column</th><th>Newest run</th><th class="right">Broke</th><th class="right">Fixed</th><th class="right">Flaky</th><th class="right">New tests</th><th class="right">Gone</th></tr></thead>
          <tbody>{site.cells.map((one, at) => (cell === undefined || cell === at) && (
            <tr key={at}>
              <td><a href={site.root + one.page}><Name text={one.suite} length={80} /></a></td><td>{visible(cellName(one))}</td>
              <td><a href={reportLink(site.root, one.now, "#/", site.root + one.page)}>{date(one.now.started)}</a></td>
              <td class="right">{one.broke > 0 ? <a class="worse" href={link("changes", "", { cell: String(at) })}>{number(one.broke)}</a> : 0}</td>
              <td class="right">{one.fixed > 0 ? <a href={link("changes", "", { cell: String(at), show: "fixed" })}>{number(one.fixed)}</a> : 0}</td>
              <td class="right">{one.flaky > 0 ? <a href={link("flaky", "", { cell: String(at) })}>{number(one.flaky)}</a> : 0}</td>
              <td class="right"><a href={reportLink(site.root, one.now, "#/changes", site.root + one.page)}>{number(one.added)}</a></td>
              <td class="right"><a href={reportLink(site.root, one.now, "#/changes", site.root + one.page)}>{number(one.gone)}</a></td>
            </tr>))}</tbody>
        </table>
      </div>
      {cell === undefined && <TorchPairs site={site} />}
      {route.query.get("show") !== "fixed" && <Breaks site={site} cell={cell} />}
      <Part<Lists> name="lists">{(lists) => (
        <>
          <TestList site={site} title="Fixed in the newest runs" tests={lists.fixed.filter((test) => cell === undefined || test.cell === cell)} />
          <Signatures site={site} title="New errors" all={lists.appeared} cell={cell} />
          <Signatures site={site} title="Errors that are gone" all={lists.vanished} cell={cell} />
        </>
      )}</Part>
    </section>
  );
}

function TestList({ site, title, tests }: { site: Site; title: string; tests: SiteTest[] }) {
  if (tests.length === 0) return null;
  return <><h2>{title}</h2><ul class="plain"><Some items={tests} first={20} what="tests">{(test) => (
    <li key={`${test.cell} ${test.id}`}><SiteTestLink root={site.root} test={test} /> <span class="tag">{visible(cellName(site.cells[test.cell]!))}</span></li>
  )}</Some></ul></>;
}

function Signatures({ site, title, all, cell }: { site: Site; title: string; all: Signature[]; cell: number | undefined }) {
  const shown = all.filter((one) => cell === undefined || one.cell === cell);
  if (shown.length === 0) return null;
  return <><h2>{title}</h2><ul class="cards"><Some items={shown} first={10} what="errors">{(one) => (
    <li key={`${one.cell} ${one.key_line}`}><div class="cause-head"><strong>{counted(one.tests, "test")}</strong>{one.cause && <span class="tag">{words(one.cause)}</span>}<span class="tag">{visible(cellName(site.cells[one.cell]!))}</span></div>
      <code class="line"><Name text={one.key_line} length={300} /></code><p class="sub">example: <Name text={one.example} length={200} /></p></li>
  )}</Some></ul></>;
}

// `run`: by place in the strip.
export function Strip({ strip, run, root = "" }: { strip: string; run?: (at: number) => ShortRun | undefined; root?: string }) {
  return (
    <ol class="states-strip" aria-label="States, the oldest run first">{[...strip].map((letter, at) => {
      const state = stateOf(letter);
      const its = run?.(at);
      const text = `${letter === "r" ? "passed when retried" : state ? words(state) : "not in this run"}${its ? `, ${date(its[1])}, ${visible(its[0])}` : ""}`;
      const sign = <span class={`box ${letter === "r" ? "retried" : state ?? "absent"}`} title={text}><span class="offscreen-text">{text}</span><span aria-hidden="true">{state ? (letter === "." ? "✓" : letter) : ""}</span></span>;
      return <li key={at}>{its?.[4] ? <a href={root + its[4]}>{sign}</a> : sign}</li>;
    })}</ol>
  );
}

function Flaky({ site, lists, route }: { site: Site; lists: Lists; route: Route }) {
  const cell = route.query.has("cell") ? Number(route.query.get("cell")) : undefined;
  const shown = lists.flaky.filter((one) => cell === undefined || one.test.cell === cell);
  return (
    <section>
      <h1>Flaky tests <small>by rate; they run on and do not fail a night</small></h1>
      <p class="sub">A test is flaky if it passed only when retried, or broke for one or two runs and was good again while source and torch stayed, in its last 20 runs. One that is broken for three runs is broken.</p>
      {shown.length === 0 ? <p>No test is flaky.</p> : <ul class="cards"><Some items={shown} first={50} what="tests">{(one) => (
        <li key={`${one.test.cell} ${one.test.id}`}><div class="cause-head"><strong>{percent(one.flaky, one.window)}</strong> <span class="n">{number(one.flaky)} of {counted(one.window, "run")}</span> <span class="tag">{visible(cellName(site.cells[one.test.cell]!))}</span></div>
          <SiteTestLink root={site.root} test={one.test} /><Strip strip={one.strip} />
          {one.test.error && <code class="line"><Name text={one.test.error} length={300} /></code>}</li>
      )}</Some></ul>}
    </section>
  );
}

function Causes({ site, lists }: { site: Site; lists: Lists }) {
  const names = [...new Set(lists.trends.flatMap((trend) => Object.keys(trend.causes)))];
  const total = (name: string) => lists.trends.reduce((sum, trend) => sum + (trend.causes[name] ?? 0), 0);
  names.sort((a, b) => total(b) - total(a));
  return (
    <section>
      <h1>Causes <small>broken tests of the newest runs, and the change since the run before</small></h1>
      <p class="sub">A suite's page has the causes of its runs over time.</p>
      {names.length === 0 ? <p>No test is broken.</p> : <div class="wide" tabIndex={0} role="region" aria-label="Causes by suite and column"><table>
        <thead><tr><th>Suite</th><th>Column</th>{names.map((name) => <th key={name} class="right">{words(name)}</th>)}</tr></thead>
        <tbody>{site.cells.map((cell, at) => (
          <tr key={at}><td><a href={`${site.root}${cell.page}#/causes`}><Name text={cell.suite} length={80} /></a></td><td>{visible(cellName(cell))}</td>
            {names.map((name) => {
              const now = lists.trends[at]?.causes[name] ?? 0, was = lists.trends_before[at]?.causes[name] ?? 0;
              const change = cell.before && now !== was ? <> <small class={now > was ? "worse" : "better"}>{now > was ? "+" : "−"}{number(Math.abs(now - was))}</small></> : null;
              return <td key={name} class="right">{now > 0 ? <a href={reportLink(site.root, cell.now, `#/tests?cause=${encodeURIComponent(name)}`, `${site.root}${cell.page}#/causes`)}>{number(now)}</a> : 0}{change}</td>;
            })}</tr>))}</tbody></table></div>}
    </section>
  );
}

function Slower({ site, lists }: { site: Site; lists: Lists }) {
  return (
    <section>
      <h1>Slower tests <small>by seconds; the median of the last three runs against up to ten before</small></h1>
      {lists.growth.length === 0 ? <p>No test takes at least half as long again, and 0.1 s more. Six runs are needed to tell.</p>
        : <div class="wide" tabIndex={0} role="region" aria-label="Slower tests"><table>
          <thead><tr><th>Test</th><th>Column</th><th class="right">Before</th><th class="right">Now</th><th class="right">More</th></tr></thead>
          <tbody>{lists.growth.map((one) => (
            <tr key={`${one.test.cell} ${one.test.id}`}><td><SiteTestLink root={site.root} test={one.test} /></td><td>{visible(cellName(site.cells[one.test.cell]!))}</td>
              <td class="right">{duration(one.before_s)}</td><td class="right">{duration(one.now_s)}</td><td class="right">{duration(one.now_s - one.before_s)}</td></tr>
          ))}</tbody></table></div>}
    </section>
  );
}

export const StatesBar = ({ run }: { run: Cell["now"] }) => <Bar states={kStates.map((state, at) => [state, run.states[at] ?? 0])} total={testsIn(run)} />;
export function useFilter(label: string, placeholder: string): [ComponentChildren, (text: string) => boolean, string] {
  const [q, setQ] = useState("");
  const asked = q.toLowerCase().split(/\s+/).filter(Boolean);
  return [<input type="search" value={q} aria-label={label} placeholder={placeholder} onInput={(event) => setQ(event.currentTarget.value)} />,
    (text) => asked.every((word) => text.toLowerCase().includes(word)), q];
}

