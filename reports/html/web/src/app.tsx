// The page around the pages: heading, navigation, theme, and which page the address asks for.

import { Component, type ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import type { Cluster, Index, RunSummary, Summary } from "./data";
import { isServed, load, reload, siteRoot } from "./loader";
import { deviceWords, isolationWords, Name, rememberSources } from "./parts";
import { ChangesPage } from "./pages/changes";
import { HistoryPage } from "./pages/history";
import { DevicesPage, ErrorsPage, GapsPage } from "./pages/lists";
import { Overview } from "./pages/overview";
import { PortingPage } from "./pages/porting";
import { RunPage } from "./pages/run";
import { AllGapsPage, RunsPage, TestHistoryPage } from "./pages/server";
import { kSiteTabs, SitePage } from "./pages/site";
import { SourcePage } from "./pages/source";
import { SuitePage } from "./pages/suite";
import { TestsOfSuitePage } from "./pages/suite_tests";
import { TestPage } from "./pages/test";
import { TestsPage } from "./pages/tests";
import { link, type Route, useRoute } from "./route";
import { Table } from "./table";
import { date, number, visible } from "./text";

// What a server's page shows while a run goes on is asked for again.
const kLiveSeconds = 5;
function useLive(first: Summary): Summary {
  const [summary, setSummary] = useState(first);
  useEffect(() => {
    if (!summary.live) return;
    const timer = setTimeout(async () => {
      try {
        setSummary(await reload<Summary>("summary"));
      } catch {
        // The server may be gone: what is shown stays, and is asked for again.
        setSummary({ ...summary });
      }
    }, kLiveSeconds * 1000);
    return () => clearTimeout(timer);
  }, [summary]);
  return summary;
}

export function App({ summary: first }: { summary: Summary }) {
  const route = useRoute();
  const summary = useLive(first);
  rememberSources(summary);
  const isFirst = useRef(true);
  useEffect(() => {
    // On the first page, tabbing begins at its top.
    if (!isFirst.current) document.getElementById("main")?.focus({ preventScroll: true });
    isFirst.current = false;
    if (route.page !== "tests") scrollTo(0, 0);
  }, [route.page, route.path]);
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); document.getElementById("main")?.focus(); }}>Skip to the content</a>
      {summary.kind === "run" && summary.run ? <RunApp summary={summary} run={summary.run} route={route} />
        : <OtherApp summary={summary} route={route} />}
    </>
  );
}

interface Tab { page: string; text: string; count?: number }

function Frame({ title, sub, tabs, route, generator, children }:
  { title: string; sub: ComponentChildren; tabs: Tab[]; route: Route; generator: string; children: ComponentChildren }) {
  return (
    <>
      <header class="top">
        <div class="title"><a href={link("")}><Name text={title} length={120} /></a><span class="sub">{sub}</span><ThemeButton /></div>
        <nav aria-label="Pages">
          {isServed && <><a href="/">All runs</a><a href="/site/index.html">Matrix</a><a href="/gaps/">Gap log</a></>}
          {siteRoot !== undefined && <a href={`${siteRoot}index.html`}>All suites</a>}
          {tabs.map((tab) => (
            <a key={tab.page} href={link(tab.page)} aria-current={tab.page === route.page ? "page" : undefined}>
              {tab.text}{tab.count !== undefined && tab.count > 0 && <span class="n"> {number(tab.count)}</span>}
            </a>
          ))}
        </nav>
      </header>
      <main id="main" tabIndex={-1}><Guard key={route.page + route.path}>{children}</Guard></main>
      <footer>{visible(generator)}</footer>
    </>
  );
}

function RunApp({ summary, run, route }: { summary: Summary; run: RunSummary; route: Route }) {
  const [table, setTable] = useState<Table>();
  const [error, setError] = useState("");
  useEffect(() => {
    const read = summary.live || table ? reload : load;
    const all = run.clusters_total > run.clusters.length ? read<Cluster[]>("clusters") : Promise.resolve(run.clusters);
    Promise.all([read<Index>("index"), all]).then(
      ([index, clusters]) => { setTable(new Table(index, clusters)); setError(""); }, (reason: unknown) => setError(String(reason)));
  }, [run]);
  useEffect(() => {
    document.documentElement.dataset.ready = table ? "yes" : "no";
    if (!table) return;
    const waits = [setTimeout(() => table.prepareSearch(), 200), setTimeout(() => table.prepareOrder(), 500)];
    return () => waits.forEach(clearTimeout);
  }, [table]);
  const tabs: Tab[] = [
    { page: "", text: "Overview" },
    { page: "tests", text: "Tests", count: run.totals.collected },
    { page: "errors", text: "Errors", count: run.clusters_total },
    ...(summary.parts.includes("changes") && !summary.live ? [{ page: "changes", text: "Changes" }] : []),
    { page: "gaps", text: "Gaps", count: run.gaps_total },
    { page: "devices", text: "Devices" },
    { page: "history", text: "History", count: run.history.length > 1 ? run.history.length : undefined },
    { page: "run", text: "Run" },
  ];
  const { run: facts } = run;
  return (
    <Frame title={facts.suite} route={route} tabs={tabs} generator={summary.generator}
      sub={<>{summary.live && <span class="tag good">running</span>}<Name text={deviceWords(facts)} />{facts.isolation !== "off" && `, isolation ${isolationWords(facts)}`}{facts.subset && <>, <Name text={facts.subset} length={100} /></>}, torch {visible(facts.torch) || "none"}, {date(facts.started)}</>}>
      {error && <p class="error" role="alert">The tests cannot be read: {visible(error)}</p>}
      <RunRoute live={summary.live ?? false} run={run} table={table} route={route} />
    </Frame>
  );
}

function RunRoute({ live, run, table, route }: { live: boolean; run: RunSummary; table: Table | undefined; route: Route }) {
  if (route.page === "") return <Overview summary={run} table={table} live={live} />;
  if (route.page === "gaps") return <GapsPage summary={run} />;
  if (route.page === "devices") return <DevicesPage summary={run} />;
  if (route.page === "history") return <HistoryPage history={run.history} current={run.run.id} />;
  if (route.page === "changes") return <ChangesPage linked />;
  if (route.page === "source") return <SourcePage path={route.path} line={Number(route.query.get("line")) || 0} />;
  if (!table) return <p class="note" role="status">Loading…</p>;
  if (route.page === "tests") return <TestsPage table={table} steps={run.first_steps} route={route} />;
  if (route.page === "test") return <TestPage table={table} id={route.path} />;
  if (route.page === "errors") return <ErrorsPage summary={run} table={table} />;
  if (route.page === "run") return <RunPage summary={run} table={table} />;
  return <section><h1>No such page</h1><p>This report has no page <Name text={route.page} length={100} />. <a href={link("")}>Overview</a></p></section>;
}

function OtherApp({ summary, route }: { summary: Summary; route: Route }) {
  useEffect(() => { document.documentElement.dataset.ready = "yes"; }, []);
  const tabs: Tab[] = summary.kind === "porting"
    ? [{ page: "", text: "Overview" }, { page: "differences", text: "Tests" }, { page: "scan", text: "Uses of CUDA" }]
    : summary.kind === "site" ? kSiteTabs : [];
  const { site } = summary;
  return (
    <Frame title={summary.title} sub="" route={route} tabs={tabs} generator={summary.generator}>
      {summary.kind === "porting" && <PortingPage page={route.page} />}
      {summary.kind === "compare" && <ChangesPage linked={false} />}
      {summary.kind === "runs" && <RunsPage runs={summary.runs ?? []} />}
      {summary.kind === "test" && summary.test && <TestHistoryPage test={summary.test} />}
      {summary.kind === "gaps" && <AllGapsPage />}
      {site && summary.kind === "site" && <SitePage site={site} route={route} />}
      {site && summary.kind === "site-suite" && <SuitePage site={site} route={route} />}
      {site && summary.kind === "site-tests" && <TestsOfSuitePage site={site} route={route} />}
    </Frame>
  );
}

// A fault of the page itself: said, with the way back.
class Guard extends Component<{ children: ComponentChildren }, { error?: string }> {
  static override getDerivedStateFromError(error: unknown) {
    return { error: String(error) };
  }
  override render() {
    if (this.state.error === undefined) return this.props.children;
    return <p class="error" role="alert">This page cannot be shown: {visible(this.state.error)}. <a href={link("")}>Overview</a></p>;
  }
}

const themes = ["", "light", "dark"] as const;
const themeWords: Record<string, string> = { "": "Auto", light: "Light", dark: "Dark" };
function stored(): string {
  try {
    return localStorage.getItem("theme") ?? "";
  } catch {
    return "";
  }
}
function ThemeButton() {
  const [theme, setTheme] = useState(stored);
  useEffect(() => {
    if (theme) document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
    try {
      localStorage.setItem("theme", theme);
    } catch {
      // A page from disk may have no storage: the choice lasts as long as the page.
    }
  }, [theme]);
  const next = themes[(themes.indexOf(theme as (typeof themes)[number]) + 1) % themes.length]!;
  return <button type="button" class="theme" aria-label={`Colours: ${themeWords[theme]}; change to ${themeWords[next]}`} onClick={() => setTheme(next)}>{themeWords[theme]}</button>;
}
