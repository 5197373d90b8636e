// The tests of some modules of a suite: their states over runs, by column; of one test since when
// it is broken and what changed then. Not for a test in one run (test.tsx).

import { useMemo } from "preact/hooks";

import { Name, Part, StateSign } from "../parts";
import { link, type Route } from "../route";
import { type History, idOf, runAt, type ShortRun, type Site, stateOf, type TestsOfSuite } from "../site";
import { counted, date, number, visible } from "../text";
import { VirtualList } from "../virtual";
import { cellName, ChangeList, reportLink, Strip, useFilter } from "./site";

export const TestsOfSuitePage = ({ site, route }: { site: Site; route: Route }) => (
  <Part<TestsOfSuite> name="tests">{(tests) =>
    route.page === "test" ? <OneTest site={site} tests={tests} id={route.path} /> : <TestsOfModule site={site} tests={tests} module={route.page === "module" ? route.path : ""} />}</Part>
);

const Crumbs = ({ site, module }: { site: Site; module?: string }) => (
  <p class="crumbs"><a href={`${site.root}index.html`}>All suites</a> / <a href="index.html"><Name text={site.suite ?? ""} length={100} /></a>{module && <> / <a href={link("module", module)}><Name text={module} length={200} /></a></>}</p>
);

const newest = (history: History | undefined) => (history && history[10] === 1 ? stateOf(history[0].at(-1) ?? " ") : undefined);

function TestsOfModule({ site, tests, module }: { site: Site; tests: TestsOfSuite; module: string }) {
  const [field, matches, q] = useFilter("Search tests", "Search tests");
  const rows = useMemo(() => tests.modules.flatMap((one, at) => (module && one.path !== module ? [] : one.names.map((_, test) => [at, test] as const))), [tests, module]);
  const found = rows.filter(([at, test]) => matches(idOf(tests.modules[at]!.path, tests.modules[at]!.names[test]!)));
  const trouble = ([at, test]: readonly [number, number]) => site.cells.reduce((worst, _, cell) => {
    const history = tests.histories[tests.modules[at]!.histories[cell]![test]!];
    return Math.max(worst, history?.[1] === "broken" && history[10] ? 2 : history?.[1] === "flaky" ? 1 : 0);
  }, 0);
  const sorted = useMemo(() => found.map((row) => [trouble(row), row] as const).sort((a, b) => b[0] - a[0]).map(([, row]) => row), [tests, module, q]);
  return (
    <section class="tests">
      <Crumbs site={site} />
      <h1><Name text={module || site.suite || ""} length={200} /> <small>{counted(rows.length, "test")}</small></h1>
      {site.parts && site.parts.length > 1 && <p class="sub">This module's tests are on {number(site.parts.length)} pages: {site.parts.map((part, at) => <><a key={part} href={part + link("module", module)}>{at + 1}</a> </>)}</p>}
      {field}
      <p class="found" role="status">{counted(sorted.length, "test")}, broken and flaky ones first</p>
      <VirtualList count={sorted.length} height={34} label="Tests" active={-1} onActive={() => undefined} onOpen={() => undefined} restore={`site ${module}`}
        row={(row) => {
          const [at, test] = sorted[row]!;
          const one = tests.modules[at]!;
          const id = idOf(one.path, one.names[test]!);
          return (
            <div class="cell site-test" role="cell">
              <span class="signs">{site.cells.map((cell, place) => {
                const state = newest(tests.histories[one.histories[place]![test]!]);
                return <span key={place} title={`${cellName(cell)}: ${state ?? "not run"}`}>{state ? <StateSign state={state} /> : <span class="sign">·</span>}<span class="offscreen-text">{cellName(cell)}: {state ?? "not run"}</span></span>;
              })}</span>
              <a href={link("test", id)}><Name text={module ? visible(one.names[test]!.trimStart()) : id} length={300} /></a>
            </div>
          );
        }} />
    </section>
  );
}

const RunWords = ({ site, run }: { site: Site; run: ShortRun | undefined }) => run ? (
  <>{run[4] ? <a href={site.root + run[4]}><Name text={run[0]} length={100} /></a> : <Name text={run[0]} length={100} />} <span class="sub">{date(run[1])}{run[2] && `, torch ${visible(run[2])}`}{run[3] && `, commit ${visible(run[3].slice(0, 12))}`}</span></>
) : <>not stored</>;

function OneTest({ site, tests, id }: { site: Site; tests: TestsOfSuite; id: string }) {
  const place = useMemo(() => {
    for (const module of tests.modules) {
      const test = module.names.findIndex((name) => idOf(module.path, name) === id);
      if (test >= 0) return { module, test };
    }
    return undefined;
  }, [tests, id]);
  if (!place) return <section><Crumbs site={site} /><h1>No such test</h1><p>The newest runs do not have <Name text={id} length={300} />{site.parts && site.parts.length > 1 && <>, or it is on another page of its module: {site.parts.map((part, at) => <><a key={part} href={part + link("test", id)}>{at + 1}</a> </>)}</>}.</p></section>;
  const { module, test } = place;
  return (
    <article>
      <Crumbs site={site} module={module.path} />
      <h1><Name text={id} length={500} /></h1>
      {site.cells.map((cell, at) => {
        const history = tests.histories[module.histories[at]![test]!];
        if (!history) return <div key={at} class="block"><h2>{visible(cellName(cell))}</h2><p class="sub">No run of this column has the test.</p></div>;
        const [strip, standing, since, good, bad, flips, ran, retried, flaky, window, current] = history;
        const changed = tests.changed.find(([its, from, to]) => its === at && from === good && to === bad);
        const error = module.errors[at]?.[String(test)];
        const from = runAt(tests, at, since);
        return (
          <div key={at} class="block">
            <h2>{visible(cellName(cell))} <span class={`tag ${standing === "broken" ? "bad" : standing === "passing" ? "good" : ""}`}>{standing}</span>
              <small> {!current ? "the newest run does not have it" : from && <>since {date(from[1])}</>}</small></h2>
            {bad !== null && standing !== "passing" && good !== null && <div class="first-bad"><strong>What changed when it broke</strong><ChangeList environment={changed?.[4] ?? []} known={changed?.[3] ?? true} commit={[runAt(tests, at, good)?.[3] ?? null, runAt(tests, at, bad)?.[3] ?? null]} /></div>}
            <Strip strip={strip} root={site.root} run={(run) => tests.runs[at]?.[run]} />
            {bad !== null && <dl class="facts-list"><div><dt>last good</dt><dd>{good === null ? "none is stored" : <RunWords site={site} run={runAt(tests, at, good)} />}</dd></div><div><dt>first bad</dt><dd><RunWords site={site} run={runAt(tests, at, bad)} /></dd></div></dl>}
            <p class="sub">{counted(flips, "flip")} in {counted(ran, "run")}, {counted(retried, "pass", "passes")} only when retried{standing === "flaky" && `; ${number(flaky)} of the last ${number(window)} runs show that it is flaky`}</p>
            {error && <code class="line"><Name text={error} length={400} /></code>}
            {current === 1 && cell.now.report && <p><a href={reportLink(site.root, cell.now, link("test", id), "")}>Its result in the newest run</a></p>}
          </div>
        );
      })}
      <p class="sub">In the terminal: <code>runner blame {`'${visible(id)}'`}</code></p>
    </article>
  );
}
