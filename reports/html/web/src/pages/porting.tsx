// A suite on several devices: what breaks on each, why, and what to fix first; and where its code
// uses CUDA. Reads the document that reports/schemas/porting.schema.json describes.

import { useMemo, useState } from "preact/hooks";

import type { Cause, CudaUses, Porting, Run as Column, Test } from "../../schemas/porting";
import { kStates, type State } from "../states";
import { Bar, Command, Name, outside, Part, Place, PlaceText, Prose, Some, StateSign } from "../parts";
import { kAttention } from "../table";
import { counted, number, safeUrl, visible, words } from "../text";

const columnWords: Record<string, string> = {
  cpu: "plain CPU", cuda: "CUDA (simulated)", mps: "Mac (simulated), fallback on", mps_strict: "Mac (simulated), fallback off",
  cuda_on_mps: "CUDA code sent to MPS (simulated)",
};
const groupWords: Record<string, string> = { loss: "breaks", idle: "does not run", gain: "gain", other: "other" };

export const PortingPage = ({ page }: { page: string }) => (
  <Part<Porting> name="porting">{(document) =>
    page === "scan" ? <Scan uses={document.cuda_uses} /> : page === "differences" ? <Differences document={document} /> : <Overview document={document} />}
  </Part>
);

function Overview({ document }: { document: Porting }) {
  const toFix = document.causes.filter((cause) => cause.group === "loss");
  const rest = document.causes.filter((cause) => cause.group !== "loss");
  const stateCount = (column: Column, state: State) => Number(column[state] ?? 0);
  return (
    <section class="overview">
      <h1><Name text={document.suite} length={200} /> on other devices</h1>
      <p class="sub">torch {visible(document.torch) || "none"}, commit <Name text={document.commit ?? "not known"} />. Simulated devices: nothing here ran on real hardware.</p>
      {!document.accounting.closed && <ul class="warnings" role="alert">{document.accounting.mismatches.slice(0, 20).map((one, at) => <li key={at}>{visible(one.column)}: {visible(one.message)}</li>)}</ul>}
      {document.unlike.length > 0 && <ul class="warnings">{document.unlike.map((one) => (
        <li key={one.what}>The runs differ in {visible(one.what)}: {Object.entries(one.values).filter(([, value]) => value).map(([column, value]) => `${columnWords[column] ?? column}: ${visible(value)}`).join("; ")}</li>
      ))}</ul>}
      <div class="wide" tabIndex={0} role="region" aria-label="Devices">
        <table>
          <thead><tr><th>Device</th><th class="right">Tests</th><th class="right">Passed</th><th class="right">Broke</th><th class="right">Used it</th><th class="right">Differ from CPU</th><th>States</th></tr></thead>
          <tbody>{document.columns.map((column) => (
            <tr key={column.column}>
              <td>{safeUrl(column.report) ? <a href={safeUrl(column.report)}>{columnWords[column.column]}</a> : columnWords[column.column]}
                {column.why_missing && <div class="sub">{visible(column.why_missing)}</div>}
                {column.simulated && column.collected > 0 && column.exercised === 0 && <div class="sub">no test used the device: this says nothing about it</div>}
                {column.generated > 0 && <div class="sub">{counted(column.generated, "test")} used generated models or data: a pass says nothing about the real model's numbers</div>}</td>
              <td class="right">{number(column.collected)}</td><td class="right">{number(stateCount(column, "passed"))}</td>
              <td class="right">{number(kAttention.reduce((sum, state) => sum + stateCount(column, state), 0))}</td>
              <td class="right">{column.simulated ? number(column.exercised) : "–"}</td><td class="right">{column.simulated ? number(column.differ) : "–"}</td>
              <td class="barcell"><Bar states={kStates.map((state) => [state, stateCount(column, state)])} total={column.collected} /></td>
            </tr>
          ))}</tbody>
        </table>
      </div>
      <h2>What to fix first</h2>
      {toFix.length === 0 ? <p>No test that passes on plain CPU breaks on a device.</p>
        : <ol class="steps"><Some items={toFix} first={5} what="causes">{(cause, at) => <CauseCard key={at} cause={cause} at={document.causes.indexOf(cause)} tests={document.tests} />}</Some></ol>}
      {rest.length > 0 && (
        <details><summary><h2 class="inline">Other differences <small>{number(rest.length)} causes</small></h2></summary>
          <ol class="steps"><Some items={rest} first={10} what="causes">{(cause, at) => <CauseCard key={at} cause={cause} at={document.causes.indexOf(cause)} tests={document.tests} />}</Some></ol>
        </details>
      )}
      {document.fallbacks.length > 0 && (
        <>
          <h2>Operators that MPS lacks <small>the CPU computed them</small></h2>
          <p class="sub">{counted(document.decided_by_fallback, "test")} end in another state with fallback than without it.</p>
          <ul class="cards"><Some items={document.fallbacks} first={5} what="operators">{(one) => (
            <li key={one.symbol}><div class="cause-head"><strong><Name text={one.symbol} /></strong><span class="n">{counted(one.tests, "test")}, {counted(one.count, "call")}; {number(one.depend)} depend on it</span></div>
              <p><Prose text={one.advice} /></p></li>
          )}</Some></ul>
        </>
      )}
      {document.not_loaded.length > 0 && (
        <><h2>Modules that could not be loaded</h2>
          <ul class="plain"><Some items={document.not_loaded} first={8} what="modules">{(one, at) => (
            <li key={at}><Place url={one.url} file={one.module} line={0} />: <code><Name text={one.key_line ?? ""} length={200} /></code> <span class="sub">{one.columns.map((column) => columnWords[column]).join(", ")}</span></li>
          )}</Some></ul></>
      )}
      {document.upstream.length > 0 && (
        <details><summary><h2 class="inline">Fail the same on plain CPU <small>{counted(document.upstream.length, "test")}</small></h2></summary>
          <ul class="plain"><Some items={document.upstream} first={20} what="tests">{(one) => <li key={one.id}><Name text={one.id} length={200} />: <code><Name text={one.key_line ?? ""} length={200} /></code></li>}</Some></ul></details>
      )}
    </section>
  );
}

function CauseCard({ cause, at, tests }: { cause: Cause; at: number; tests: Test[] }) {
  const mine = useMemo(() => tests.filter((test) => test.differences.some((one) => one.causes.includes(at) || one.cause === at)), [tests, at]);
  const where = Object.entries(cause.counts).filter(([, n]) => n > 0).map(([column, n]) => `${number(n)} on ${columnWords[column]}`).join(", ");
  const unblocked = cause.unblocked_tests + cause.perhaps_unblocked_tests;
  return (
    <li class="step">
      <div class="step-head">
        <span class="count">{number(cause.tests)}<small>{cause.tests === 1 ? "test" : "tests"}</small></span>
        <div>
          <h3><Name text={cause.title} length={300} /></h3>
          {cause.advice && <p><Prose text={cause.advice} /></p>}
          <p class="sub">{groupWords[cause.group]}{cause.judgement && `, ${words(cause.judgement)}`}: {where}{unblocked > 0 && `; fixing it lets ${cause.perhaps_unblocked_tests > 0 ? "up to " : ""}${counted(unblocked, "test")} pass`}{cause.attribution && `; ${visible(cause.attribution.words)}`}</p>
          {cause.gap?.equivalent && <p>Instead of <code>{visible(cause.gap.symbol)}</code>: <code>{visible(cause.gap.equivalent)}</code></p>}
          {cause.places.length > 0 && <ul class="plain">{cause.places.map((one) => <li key={one.place}><PlaceText place={one.place} url={one.url} /> <span class="sub">{counted(one.tests, "test")}</span></li>)}</ul>}
          {cause.behind.length > 0 && <p class="sub">Then they meet: {cause.behind.map((one) => `${visible(one.title)} (${number(one.tests)})`).join("; ")}</p>}
        </div>
      </div>
      {mine.length > 0 && <details class="example"><summary>{counted(mine.length, "test")}</summary><TestList tests={mine} /></details>}
    </li>
  );
}

function TestList({ tests }: { tests: Test[] }) {
  return (
    <ul class="plain">
      <Some items={tests} first={30} what="tests">{(test) => (
        <li key={test.id}>
          <details><summary>{Object.entries(test.states).map(([column, state]) => (
            <span key={column} title={columnWords[column]}>{state ? <StateSign state={state} /> : <span class="sign">·</span>}</span>
          ))} <Name text={test.id} length={300} /></summary>
            {safeUrl(test.url) && <p><a href={safeUrl(test.url)} {...outside(test.url!)}>source</a></p>}
            {test.differences.map((one, at) => (
              <div key={at} class="block"><strong>{columnWords[one.column]}</strong>: {words(one.change)}{one.key_line && <>: <code><Name text={one.key_line} length={500} /></code></>}
                {one.place && <> at <PlaceText place={one.place} url={one.url} /></>}
                {one.streams > 0 && <p class="sub">fails with {one.failed_streams} of {one.streams} random streams on plain CPU</p>}
                {one.reproduce && <Command text={one.reproduce} label="Reproduce" />}</div>
            ))}
          </details>
        </li>
      )}</Some>
    </ul>
  );
}

function Differences({ document }: { document: Porting }) {
  const [q, setQ] = useState("");
  const [column, setColumn] = useState("");
  const asked = q.toLowerCase().split(/\s+/).filter(Boolean);
  const found = document.tests.filter((test) =>
    (!column || test.differences.some((one) => one.column === column)) &&
    asked.every((word) => `${test.id}\n${test.differences.map((one) => one.key_line).join("\n")}`.toLowerCase().includes(word)));
  return (
    <section>
      <h1>Tests that differ <small>{number(document.tests.length)}</small></h1>
      <div class="filters">
        <input type="search" value={q} aria-label="Search names and errors" placeholder="Search names and errors" onInput={(event) => setQ(event.currentTarget.value)} />
        <label class="select"><span>Device</span>
          <select value={column} onChange={(event) => setColumn(event.currentTarget.value)}>
            <option value="">any</option>{document.columns.map((one) => <option key={one.column} value={one.column}>{columnWords[one.column]}</option>)}
          </select></label>
      </div>
      <p class="found" role="status">{number(found.length)} of {counted(document.tests.length, "test")}; states on {document.columns.map((one) => columnWords[one.column]).join(" · ")}</p>
      <TestList tests={found} />
    </section>
  );
}

function Scan({ uses }: { uses: CudaUses | null }) {
  if (!uses) return <section><h1>Uses of CUDA</h1><p>The suite's code was not scanned.</p></section>;
  if (uses.unknown) return <section><h1>Uses of CUDA</h1><p>The code could not be scanned: {visible(uses.unknown)}</p></section>;
  return (
    <section>
      <h1>Uses of CUDA <small>in <Name text={uses.root ?? ""} length={200} /></small></h1>
      <p>{counted(uses.places ?? 0, "place")} in {counted(uses.files ?? 0, "file")}, of which {number(uses.to_change ?? 0)} are to be changed.
        {(uses.unread ?? 0) > 0 && ` ${counted(uses.unread!, "file")} could not be read.`}{(uses.suppressed ?? 0) > 0 && ` ${number(uses.suppressed!)} more are suppressed by a comment.`}
        {!uses.has_record && " No run says which of them ran."}</p>
      <ul class="cards">
        {(uses.groups ?? []).map((group) => (
          <li key={group.title}>
            <div class="cause-head"><strong>{visible(group.title)}</strong>{group.changes && <span class="tag bad">change</span>}
              <span class="n">{counted(group.places, "place")}{uses.has_record && `: ${number(group.ran)} ran, ${number(group.refused)} refused, ${number(group.not_run)} did not run`}</span></div>
            <details><summary>{group.first.length < group.places ? `The first ${number(group.first.length)} places` : counted(group.places, "place")}</summary>
              <ul class="plain">{group.first.map((one, at) => (
                <li key={at}><PlaceText place={one.place} url={one.url} /> <code><Name text={one.source} length={200} /></code>
                  {one.write && <div class="sub">write <code><Name text={one.write} length={200} /></code></div>}</li>
              ))}</ul></details>
          </li>
        ))}
      </ul>
    </section>
  );
}

