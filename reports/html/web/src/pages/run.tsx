// The run itself: how it was started, its environment, its modules, its accounting.

import { useState } from "preact/hooks";

import type { Module, RunSummary } from "../data";
import { Command, deviceWords, isolationWords, Name, PlaceText, Some } from "../parts";
import { siteRoot } from "../loader";
import { link } from "../route";
import { Table } from "../table";
import { counted, date, duration, number, safeUrl, visible, words } from "../text";

const PLACES: Record<string, string> = { source: "the run's copy of the source", home: "the run's HOME", tmp: "its TMPDIR" };

export function RunPage({ summary, table }: { summary: RunSummary; table: Table }) {
  const { run, accounting, links } = summary;
  const facts: [string, string][] = [
    ["Suite", run.suite], ["Series", run.series], ["Framework", run.framework], ["Device", deviceWords(run)],
    ["Shim", run.imported ? "imported results" : `${run.shim}${run.policy ? `, policy ${run.policy}` : ""}${run.masquerade ? ", masquerade" : ""}`],
    ["Fallback", run.fallback ? "on" : "off"], ["torch", run.torch ?? "none"],
    ["Isolation", isolationWords(run)], ["Hub", run.hub], ["Part of the suite", run.subset ?? "all of it"],
    ["Commit", run.commit ? `${run.commit}${run.dirty ? ", with changes" : ""}` : "not known"], ["Source", run.root],
    ["Started", date(run.started)], ["Duration", duration(run.duration_s)], ["Complete", run.complete ? "yes" : "no"],
    ["Exit code", run.exit_code === null ? "none" : String(run.exit_code)],
    ["Links", `${number(links.total)}, of which ${number(links.unresolved)} lead nowhere and are plain text`],
  ];
  return (
    <section>
      <h1>Run <small><Name text={run.id} /></small></h1>
      <dl class="facts-list">{facts.map(([name, value]) => <div key={name}><dt>{name}</dt><dd><Name text={value} /></dd></div>)}</dl>
      {run.command && <Command text={run.command} label="Command" />}
      <h2>Accounting</h2>
      {accounting.closed ? <p>Every collected test is in exactly one state.</p> : (
        <ul class="warnings">
          {accounting.mismatches.map((mismatch, at) => <li key={at}>{mismatch.module && <><Name text={mismatch.module} />: </>}{visible(mismatch.message)}</li>)}
          {accounting.more > 0 && <li>and {number(accounting.more)} more, in report.json</li>}
        </ul>
      )}
      {summary.leaked_processes.length > 0 && (
        <>
          <h2>Processes that outlived their module</h2>
          <ul class="plain">{summary.leaked_processes.map((process) => (
            <li key={process.pid}><Name text={process.module} length={200} />: {process.pid}, <code><Name text={process.command} length={200} /></code>{process.killed && ", killed"}</li>
          ))}</ul>
        </>
      )}
      {summary.writes.length > 0 && (
        <>
          <h2>Files that the tests wrote</h2>
          {summary.writes.map((place) => (
            <div key={place.place}>
              <p>{counted(place.count, "file")} in {PLACES[place.place] ?? visible(place.place)}</p>
              <ul class="plain">
                <Some items={place.files} first={10} what="files">{(file, at) => (
                  <li key={at}><code><Name text={file.path} length={200} /></code>: {words(file.change)}{file.change !== "deleted" && `, ${number(file.bytes)} bytes`}</li>
                )}</Some>
              </ul>
            </div>
          ))}
        </>
      )}
      <Modules table={table} />
      <h2>Environment</h2>
      <Tree value={run.fingerprint} />
    </section>
  );
}

function Modules({ table }: { table: Table }) {
  const [q, setQ] = useState("");
  const all = table.index.modules;
  const found = all.filter((module) => module.path.toLowerCase().includes(q.toLowerCase()));
  const order = (module: Module) => (module.outcome === "completed" || module.outcome === "no_tests" ? 1 : 0);
  found.sort((a, b) => order(a) - order(b));
  return (
    <>
      <h2>Modules <small>{number(all.length)}</small></h2>
      <input type="search" aria-label="Search modules" placeholder="Search modules" value={q} onInput={(event) => setQ(event.currentTarget.value)} />
      <ul class="plain modules">
        <Some items={found} first={30} what="modules">{(module) => (
          <li key={module.path}>
            <a href={link("tests", "", { folder: module.path })}><Name text={module.path} length={300} /></a>{" "}
            <span class="sub">{words(module.outcome)}, {duration(module.duration_s)}{module.attempts > 1 && `, ${counted(module.attempts, "attempt")}`}
              {siteRoot === undefined && safeUrl(module.log_url) && <>, <a href={safeUrl(module.log_url)}>log</a></>}</span>
            {module.reason && <div class="sub"><Name text={module.reason} length={300} /></div>}
            {module.diagnostics.map((text, at) => <div class="sub" key={at}><Name text={text} length={300} /></div>)}
            {module.refusals.map((refusal, at) => (
              <div class="sub" key={at}>refused outside its tests: <Name text={refusal.message} length={300} /> {refusal.place && <PlaceText place={refusal.place} url={refusal.url} />}</div>
            ))}
            {module.reproduce && <details><summary>Reproduce</summary><Command text={module.reproduce.runner} label="with the runner" /><Command text={module.reproduce.plain} label="without it" /></details>}
          </li>
        )}</Some>
      </ul>
    </>
  );
}

// Any JSON as nested lists.
function Tree({ value }: { value: unknown }) {
  if (Array.isArray(value))
    return value.length === 0 ? <span class="sub">none</span> : (
      <ul class="plain"><Some items={value} first={20} what="entries">{(one, at) => <li key={at}><Tree value={one} /></li>}</Some></ul>
    );
  if (value !== null && typeof value === "object") {
    return (
      <dl class="tree">
        {Object.entries(value).map(([name, one]) => {
          const large = one !== null && typeof one === "object" && Object.keys(one).length > 6;
          return (
            <div key={name}><dt><Name text={name} length={200} /></dt>
              <dd>{large ? <details><summary>{number(Object.keys(one as object).length)} entries</summary><Tree value={one} /></details> : <Tree value={one} />}</dd></div>
          );
        })}
      </dl>
    );
  }
  return <Name text={value === null ? "none" : String(value)} length={1000} />;
}

