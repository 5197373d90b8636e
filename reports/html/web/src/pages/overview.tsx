// The first screen: how much works, what to do first, what changed, why tests fail, and what the
// numbers do not say.

import type { Cluster, Detail, Expectations, FirstStep, Run, RunSummary } from "../data";
import { kStates, type State } from "../states";
import { Bar, Command, deviceWords, LongText, Name, Part, Place, PlaceText, Prose, Some, StateSign, TestLink } from "../parts";
import { link } from "../route";
import { kAllTests, kAttention, Table } from "../table";
import { brief, counted, date, duration, number, percent, visible, words } from "../text";
import { Changes } from "./changes";

export function statesOf(totals: Record<string, number>): [State, number][] {
  return kStates.map((state) => [state, totals[state] ?? 0]);
}

// `live`: the run goes on, so what is missing is no fault.
export function Overview({ summary, table, live }: { summary: RunSummary; table: Table | undefined; live: boolean }) {
  const { totals, run } = summary;
  const collected = totals.collected ?? 0;
  const bad = kAttention.reduce((sum, state) => sum + (totals[state] ?? 0), 0);
  return (
    <div class="overview">
      <section class="hero" aria-label="Totals">
        <h1 class="big">
          {live && <><span class="tag good">running</span> </>}
          {collected === 0 ? (live ? "No test has ended yet" : "No test was collected") : (
            <>
              <strong>{percent(totals.passed ?? 0, collected)}</strong> of {counted(collected, "test")} passed on{" "}
              <Name text={deviceWords(run)} />
              {bad > 0 && <>, <a href={link("tests", "", { state: kAttention.join(",") })}>{counted(bad, "test")} broke</a></>}
            </>
          )}
        </h1>
        {table && (totals.used_accelerator ?? 0) > 0 && <UsedDevice table={table} run={run} />}
        <Bar states={statesOf(totals)} total={collected} />
        <ul class="chips">
          {statesOf(totals).filter(([, n]) => n > 0).map(([state, n]) => (
            <li key={state}><a class="chip" href={link("tests", "", { state })}><StateSign state={state} /> {number(n)} {words(state)}</a></li>
          ))}
          {(totals.flaky ?? 0) > 0 && <li><a class="chip" href={link("tests", "", { mark: "flaky" })}>{number(totals.flaky!)} flaky</a></li>}
        </ul>
        <Warnings summary={summary} live={live} />
        {summary.expectations.entries > 0 && <ExpectationLines expectations={summary.expectations} />}
        {summary.blind_spots.length > 0 && (
          <div class="blind" role="note">
            <h2>What the counts do not say</h2>
            <ul>{summary.blind_spots.map((spot) => (
              <li key={spot.name}><strong>{counted(spot.tests, "test")}</strong> <Prose text={spot.words} /></li>
            ))}</ul>
          </div>
        )}
      </section>
      {summary.changes && !live && (
        <section>
          <h2>What changed</h2>
          <Changes changes={summary.changes} brief />
        </section>
      )}
      {summary.first_steps.length > 0 && <FirstSteps steps={summary.first_steps} table={table} />}
      {summary.causes.length > 0 && <Causes summary={summary} table={table} />}
      {summary.load_failures.length > 0 && (
        <section>
          <h2>Modules that could not be loaded</h2>
          <ul class="cards">
            <Some items={summary.load_failures} first={5} what="causes">{(failure) => (
              <li key={failure.key_line}>
                <strong>{counted(failure.modules, "module")}</strong> <code><Name text={failure.key_line} length={300} /></code>
                <div class="sub">first: <Place url={failure.url} file={failure.example} line={0} /></div>
              </li>
            )}</Some>
          </ul>
        </section>
      )}
      {bad > 0 && table && <Folders table={table} />}
      <p class="sub">
        Run <Name text={run.id} />, {date(run.started)}, {duration(run.duration_s)}.{" "}
        <a href={link("run")}>Environment, modules and accounting</a>
      </p>
    </div>
  );
}

// The share that matters: of the tests that used the device; of those that were redirected where there is none.
function UsedDevice({ table, run }: { table: Table; run: Run }) {
  const used = table.select({ ...kAllTests, mark: "used_accelerator" });
  const passed = used.filter((row) => table.state(row) === "passed").length;
  return (
    <p><a href={link("tests", "", { mark: "used_accelerator" })}>{counted(used.length, "test")}</a> {run.simulated || run.device !== "cpu" ? <>used the device <Name text={deviceWords(run)} />, or were refused by it</> : "asked for another device and got the CPU"}; {number(passed)} of them passed ({percent(passed, used.length)}).</p>
  );
}

// What expectations.json says of the run.
function ExpectationLines({ expectations }: { expectations: Expectations }) {
  const { expected_failures, unexpected_passes, unexpected_failures, notes } = expectations;
  return (
    <div>
      <p>
        {counted(expected_failures, "failure")} as expected, <strong>{counted(unexpected_failures, "unexpected failure")}</strong>,{" "}
        {number(unexpected_passes)} unexpected {unexpected_passes === 1 ? "pass" : "passes"}.
      </p>
      {notes.length > 0 && (
        <ul class="plain">
          <Some items={notes} first={3} what="entries">{(note, at) => (
            <li key={at}>expectation <code><Name text={note.test} length={200} /></code>: {words(note.kind)}{note.until && ` (until ${visible(note.until)})`}{note.reason && <>; <Name text={note.reason} length={200} /></>}</li>
          )}</Some>
        </ul>
      )}
    </div>
  );
}

function Warnings({ summary, live }: { summary: RunSummary; live: boolean }) {
  const { run, accounting, totals } = summary;
  const list: string[] = [];
  if (!accounting.closed) {
    list.push(`Not all tests are accounted for: ${counted(accounting.mismatches.length + accounting.more, "mismatch", "mismatches")}. See Run.`);
  }
  if (!run.complete && !live) list.push("The run is not complete.");
  if (summary.modules_without_result > 0) list.push(live ? `${counted(summary.modules_without_result, "module")} have not ended yet.` : `${counted(summary.modules_without_result, "module")} gave no result.`);
  if (run.keep_going) list.push("Not a verdict: where the device refuses, this run wrote it down, computed on the CPU and went on.");
  if (run.seeds > 0) list.push(`Not a verdict: each module ran ${run.seeds} times with other random numbers.`);
  if (run.simulated && run.shim === "on" && totals.used_accelerator === 0 && (totals.collected ?? 0) > 0)
    list.push(`No test used the device ${deviceWords(run)}: these results say nothing about it.`);
  if (list.length === 0) return null;
  return <ul class="warnings" role="alert">{list.map((text) => <li key={text}>{visible(text)}</li>)}</ul>;
}

// The summary has this many signatures of a step at most; a step of more is all of its cause.
const kSignatures = 100;
const kFirstSteps = 10; // as many as a summary has

function FirstSteps({ steps, table }: { steps: FirstStep[]; table: Table | undefined }) {
  return (
    <section>
      <h2>What to do first</h2>
      {steps.length >= kFirstSteps && <p class="sub">At most {kFirstSteps}: those that remove most failures. <a href={link("tests", "", { state: kAttention.join(","), group: "cluster" })}>All failures by their text</a></p>}
      <ol class="steps">
        <Some items={steps} first={3} what="steps">{(step, at) => (
          <li key={at} class="step">
            <div class="step-head">
              <span class="count">{number(step.tests || step.modules)}<small>{step.tests ? (step.tests === 1 ? "test" : "tests") : (step.modules === 1 ? "module" : "modules")}</small></span>
              <div>
                <h3><Name text={step.title} length={300} /></h3>
                {step.advice && <p><Prose text={step.advice} /></p>}
                {step.places.length > 0 && (
                  <ul class="plain">{step.places.map((at) => (
                    <li key={at.place}><PlaceText place={at.place} url={at.url} /> <span class="sub">{counted(at.tests, "test")}</span></li>
                  ))}</ul>
                )}
                <p class="sub">
                  {step.signatures.length > 0 && <><a href={link("tests", "", step.signatures.length < kSignatures || !step.cause ? { step: String(at + 1) } : { cause: step.cause })}>its tests</a> · </>}
                  example: <TestLink id={step.example} length={160} />
                </p>
              </div>
            </div>
            {table && step.example && <Example id={step.example} table={table} />}
          </li>
        )}</Some>
      </ol>
    </section>
  );
}

// One traceback, read when it is opened.
export function Example({ id, table }: { id: string; table: Table }) {
  const row = table.find(id);
  if (row === undefined || table.index.block[row]! < 0) return null;
  return (
    <details class="example">
      <summary>Traceback and command</summary>
      <Part<Detail[]> name={`details-${table.index.block[row]}`}>{(details) => {
        const detail = table.detail(details, row);
        const failure = detail?.failure ?? detail?.subtests.find((subtest) => subtest.failure)?.failure;
        return (
          <>
            {failure ? <LongText text={failure.traceback || failure.message} label="Traceback" tail /> : <p>{visible(detail?.reason) || "nothing is known"}</p>}
            {detail?.reproduce && <Command text={detail.reproduce.runner} label="Reproduce" />}
          </>
        );
      }}</Part>
    </details>
  );
}

function Causes({ summary, table }: { summary: RunSummary; table: Table | undefined }) {
  const most = Math.max(...summary.causes.map((cause) => cause.tests));
  return (
    <section>
      <h2>Why tests break</h2>
      <ul class="cards causes">
        <Some items={summary.causes} first={6} what="causes">{(cause) => {
          const first = summary.clusters.find((cluster: Cluster) => cluster.cause === cause.name);
          return (
            <li key={cause.name}>
              <div class="cause-head">
                <a href={link("tests", "", { cause: cause.name, group: "cluster" })}><strong>{words(cause.name)}</strong></a>
                <meter min={0} max={most} value={cause.tests} aria-label={`${cause.tests} tests`} />
                <span class="n">{counted(cause.tests, "test")}</span>
              </div>
              <p><Prose text={cause.means} /></p>
              {first && <code class="line"><Name text={first.key_line} length={240} /></code>}
              {first && table && <Example id={first.example} table={table} />}
            </li>
          );
        }}</Some>
      </ul>
    </section>
  );
}

function Folders({ table }: { table: Table }) {
  const rows = table.select({ ...kAllTests, states: kAttention });
  const groups = table.grouped(rows, "module");
  return (
    <section>
      <h2>Where</h2>
      <ul class="plain">
        <Some items={groups} first={8} what="modules">{(group) => (
          <li key={group.name}><span class="n">{number(group.rows.length)}</span>{" "}
            <a href={link("tests", "", { folder: group.name, state: kAttention.join(",") })}><Name text={brief(group.name)} /></a></li>
        )}</Some>
      </ul>
    </section>
  );
}
