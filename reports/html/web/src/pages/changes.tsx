// What differs between two runs: the environment first, then tests by class and cause.

import { useState } from "preact/hooks";

import type { ChangedTest, ChangesSummary, CompareDocument, ComparisonSummary } from "../data";
import { Name, Part, Some, StateSign, TestLink } from "../parts";
import { link } from "../route";
import { brief as cut, counted, date, number, visible, words } from "../text";

// As analysis::kChangeClasses; those that say nothing new come last and are not listed.
const means: Record<string, string> = {
  regressed: "was good, breaks now",
  new_failing: "breaks now; was skipped, not run or not collected",
  still_failing_changed: "broke and breaks, with another signature",
  gone: "is no longer collected",
  newly_skipped: "is skipped or not run; ran before, or is new",
  fixed: "broke, is good now",
  new_passing: "is good; was not collected",
  newly_run: "is good; was skipped or not run",
  flaky: "passes only when retried, or differs between runs that differ in nothing",
  spurious: "memory, disk, network, a time limit or the runner itself ended it in either run",
  still_failing_same: "broke and breaks, with the same signature",
  unchanged: "is as good, or as idle, as before",
};
const bad = new Set(["regressed", "new_failing"]);
const good = new Set(["fixed", "new_passing", "newly_run"]);
const tone = (name: string) => (bad.has(name) ? "bad" : good.has(name) ? "good" : "");

export function Changes({ changes, brief = false }: { changes: ChangesSummary; brief?: boolean }) {
  const one = changes.comparisons.length === 1;
  return (
    <>
      <p class="sub">
        Compared with <Name text={changes.baseline.id} /> of {date(changes.baseline.started)}
        {changes.chosen && <> ({visible(changes.chosen)})</>}.{" "}
        {brief && <a href={link("changes")}>All changes, test by test</a>}
      </p>
      {changes.comparisons.map((comparison) => (
        <div key={comparison.run.id} class="comparison">
          {!one && <h3><Name text={`${comparison.run.id}: ${comparison.run.way}`} length={300} /></h3>}
          <Environment comparison={comparison} />
          <ClassCounts comparison={comparison} />
          {brief && comparison.groups.length === 0 && <p>No test differs.</p>}
          {brief && (
            <ul class="plain">
              {comparison.groups.filter((group) => group.class !== "spurious").slice(0, 5).map((group, at) => (
                <li key={at}><span class={`tag ${tone(group.class)}`}>{words(group.class)}</span>{" "}
                  <strong>{counted(group.tests, "test")}</strong> <Name text={group.title} length={240} /></li>
              ))}
            </ul>
          )}
        </div>
      ))}
    </>
  );
}

function Environment({ comparison }: { comparison: ComparisonSummary }) {
  const [all, setAll] = useState(false);
  const { environment, drops, noise } = comparison;
  const shown = all ? environment : environment.slice(0, 6);
  return (
    <>
      {!comparison.environment_known && <p class="note">The environment of one run is not known.</p>}
      {environment.length > 0 && (
        <p class="note">
          The environment changed:{" "}
          {shown.map((change, at) => (
            <span key={change.name}>{at > 0 && ", "}<strong>{visible(change.name)}</strong> {cut(change.baseline, 80) || "none"} → {cut(change.run, 80) || "none"}</span>
          ))}
          {environment.length > shown.length && <> <button type="button" onClick={() => setAll(true)}>and {environment.length - shown.length} more</button></>}
        </p>
      )}
      {drops.map((drop) => (
        <p class="note" key={drop.what}>
          Fewer {visible(drop.what)}s: {number(drop.baseline)} → {number(drop.run)}
          {drop.spread > 0 && ` (past runs differ by ${number(drop.spread)})`}
        </p>
      ))}
      {noise.tests > 0 && <p class="sub">{counted(noise.tests, "test")} differ between {counted(noise.runs, "equal run")} and never count as regressed.</p>}
      {comparison.duplicates > 0 && <p class="sub">{counted(comparison.duplicates, "test")} with the id of another test are left out.</p>}
      {comparison.not_asked_for > 0 && <p class="sub">{counted(comparison.not_asked_for, "test")} of one run are left out: the other ran another part of the suite.</p>}
    </>
  );
}

function ClassCounts({ comparison }: { comparison: ComparisonSummary }) {
  const list = Object.entries(comparison.classes).filter(([, n]) => n > 0);
  return (
    <ul class="chips">
      {list.map(([name, n]) => (
        <li key={name} class={`chip ${tone(name)}`} title={means[name] ?? ""}><strong>{number(n)}</strong> {words(name)}</li>
      ))}
    </ul>
  );
}

export function ChangesPage({ linked }: { linked: boolean }) {
  return (
    <Part<CompareDocument> name="changes">{(document) => (
      <section>
        <h1>Changes</h1>
        <Changes changes={document} />
        {document.comparisons.map((comparison) => (
          <Groups key={comparison.run.id} comparison={comparison} tests={comparison.tests} linked={linked} />
        ))}
      </section>
    )}</Part>
  );
}

function Groups({ comparison, tests, linked }: { comparison: ComparisonSummary; tests: ChangedTest[]; linked: boolean }) {
  const byGroup = new Map<number, ChangedTest[]>();
  for (const test of tests) {
    const list = byGroup.get(test.group);
    if (list) list.push(test);
    else byGroup.set(test.group, [test]);
  }
  if (comparison.groups.length === 0) return <p>No test differs.</p>;
  const classes = [...new Set(comparison.groups.map((group) => group.class))];
  return (
    <>
      {classes.map((name) => (
        <section key={name}>
          <h2><span class={`tag ${tone(name)}`}>{words(name)}</span> <small>{means[name]}</small></h2>
          <ul class="cards">
            <Some items={comparison.groups.map((group, at) => ({ group, at })).filter(({ group }) => group.class === name)} first={20} what="causes">
              {({ group, at }) => (
                <li key={at}>
                  <details>
                    <summary><strong>{counted(group.tests, "test")}</strong> <code><Name text={group.title} length={300} /></code>
                      {group.cause && <span class="sub"> {words(group.cause)}</span>}</summary>
                    <ul class="plain">
                      <Some items={byGroup.get(at) ?? []} first={50} what="tests">{(test) => (
                        <li key={test.id}>
                          {test.baseline ? <StateSign state={test.baseline} /> : <span class="sign">·</span>}→
                          {test.run ? <StateSign state={test.run} /> : <span class="sign">·</span>}{" "}
                          {linked && test.run ? <TestLink id={test.id} /> : <Name text={test.id} length={400} />}
                          {test.why && test.why !== group.title && <div class="sub"><Name text={test.why} length={300} /></div>}
                        </li>
                      )}</Some>
                    </ul>
                  </details>
                </li>
              )}
            </Some>
          </ul>
        </section>
      ))}
    </>
  );
}
