// Errors, gaps and redirections of a run: lists with what each costs, most tests first.

import { useState } from "preact/hooks";

import type { Cluster, Collectives, Gap, RunSummary } from "../data";
import { Name, Part, Place, PlaceText, Prose, Some, TestLink } from "../parts";
import { link } from "../route";
import { Table } from "../table";
import { counted, number, safeUrl, visible, words } from "../text";
import { Example } from "./overview";

function useSearch(label: string) {
  const [q, setQ] = useState("");
  const field = <input type="search" value={q} aria-label={label} placeholder={label} onInput={(event) => setQ(event.currentTarget.value)} />;
  const asked = q.toLowerCase().split(/\s+/).filter(Boolean);
  const matches = (...texts: (string | null | undefined)[]) => {
    const text = texts.join("\n").toLowerCase();
    return asked.every((word) => text.includes(word));
  };
  return { field, matches };
}

export function ErrorsPage({ summary, table }: { summary: RunSummary; table: Table }) {
  const { field, matches } = useSearch("Search errors");
  const list = (clusters: Cluster[]) => {
    const found = clusters.filter((cluster) => matches(cluster.key_line, cluster.cause, cluster.example));
    return (
      <ul class="cards">
        <Some items={found} first={30} what="errors">{(cluster) => (
          <li key={cluster.signature}>
            <div class="cause-head"><a href={link("tests", "", { cluster: cluster.signature })}><strong>{counted(cluster.tests, "test")}</strong></a>
              {cluster.cause && <a class="tag" href={link("tests", "", { cause: cluster.cause })}>{words(cluster.cause)}</a>}
              {cluster.class && <span class="tag">{words(cluster.class)}</span>}</div>
            {cluster.needs && <p class="sub"><Name text={cluster.needs} length={300} /></p>}
            <code class="line"><Name text={cluster.key_line} length={500} /></code>
            {cluster.place && <p><PlaceText place={cluster.place} url={cluster.place_url} /></p>}
            {cluster.diagnosis && <p class="sub">{visible(cluster.diagnosis)}</p>}
            <p class="sub">example: <TestLink id={cluster.example} length={200} /></p>
            <Example id={cluster.example} table={table} />
          </li>
        )}</Some>
        {found.length === 0 && <li>No matching errors.</li>}
      </ul>
    );
  };
  return (
    <section>
      <h1>Errors <small>{number(summary.clusters_total)}, equal ones together</small></h1>
      {field}
      {summary.clusters_total === 0 ? <p>No test broke.</p>
        : summary.clusters_total > summary.clusters.length ? <Part<Cluster[]> name="clusters">{list}</Part> : list(summary.clusters)}
    </section>
  );
}

export const GapsPage = ({ summary }: { summary: RunSummary }) => (
  <section>
    <h1>Gaps <small>{counted(summary.gaps_total, "device API")} that this run missed</small></h1>
    {summary.gaps_total > summary.gaps.length && <p class="note">Only the first {number(summary.gaps.length)} are in this page; <code>runner gaps</code> lists all.</p>}
    <GapList gaps={summary.gaps} none="This run met no gap." />
  </section>
);

export function GapList({ gaps, none }: { gaps: Gap[]; none: string }) {
  const { field, matches } = useSearch("Search gaps");
  const found = gaps.filter((gap) => matches(gap.symbol, gap.device, gap.kind, gap.action, gap.description));
  return (
    <>
      {field}
      <ul class="cards">
        <Some items={found} first={30} what="gaps">{(gap) => (
          <li key={`${gap.symbol} ${gap.kind} ${gap.device}`}>
            <div class="cause-head"><strong><Name text={gap.symbol} length={200} /></strong>
              <span class="tag">{words(gap.kind)}</span><span class="tag">{visible(gap.device)}{gap.simulated && " (simulated)"}</span>
              <span class="n">{counted(gap.tests, "test")} blocked, {number(gap.unblocked_alone)} by it alone</span></div>
            {gap.description && <p><Prose text={gap.description} /></p>}
            {gap.equivalent && <p>Instead: <code>{visible(gap.equivalent)}</code></p>}
            {gap.action && <p><Prose text={gap.action} /></p>}
            {safeUrl(gap.issue) && <p><a href={safeUrl(gap.issue)} target="_blank" rel="noopener noreferrer">{visible(gap.issue)}</a></p>}
            {gap.sites.length > 0 && (
              <details><summary>{counted(gap.sites.length, "place")}</summary>
                <ul class="plain">{gap.sites.map((site, at) => (
                  <li key={at}><Place url={site.url} file={site.file} line={site.line} /> <span class="sub">{counted(site.tests, "test")}</span></li>
                ))}</ul></details>
            )}
          </li>
        )}</Some>
        {found.length === 0 && <li>{gaps.length === 0 ? none : "No matching gaps."}</li>}
      </ul>
    </>
  );
}

export function DevicesPage({ summary }: { summary: RunSummary }) {
  const { totals, redirections } = summary;
  const { field, matches } = useSearch("Search places and operators");
  const found = redirections.filter((event) => matches(event.kind, event.op, event.file, event.message));
  const marks: [string, string][] = [
    ["used_accelerator", "used the accelerator, were redirected or were refused by it, in any state"], ["device", "used it, and passed or failed"], ["fallback", "fell back to the CPU, of those that passed or failed"],
    ["race", "have a race between CUDA streams"],
    ["redirected", "asked for another device than they got"], ["untouched", "touched no device: their results say nothing about it"],
    ["generated", "used generated models or data: their pass says nothing about the real model's numbers"],
  ];
  return (
    <section>
      <h1>Devices</h1>
      <ul class="plain">
        {marks.map(([mark, text]) => <li key={mark}><a href={link("tests", "", { mark })}>{counted(totals[mark] ?? 0, "test")}</a> {text}</li>)}
      </ul>
      <h2>What was redirected, and where <small>{number(summary.redirections_total)}</small></h2>
      {summary.redirections_total > redirections.length && <p class="note">Only the {number(redirections.length)} most frequent are in this page; report.json has all.</p>}
      {field}
      <div class="wide" tabIndex={0} role="region" aria-label="Redirections">
        <table>
          <thead><tr><th>Kind</th><th>Operator</th><th>From → to</th><th>Place</th><th class="right">Times</th><th class="right">Tests</th></tr></thead>
          <tbody>
            {found.slice(0, 200).map((event, at) => (
              <tr key={at}>
                <td>{visible(event.kind)}</td><td><code><Name text={event.op} length={120} /></code>{event.message && <div class="sub"><Name text={event.message} length={200} /></div>}</td>
                <td>{visible(event.from)}{event.to && ` → ${visible(event.to)}`}</td>
                <td>{event.file && <Place url={event.url} file={event.file} line={event.line} />}</td>
                <td class="right">{number(event.count)}</td><td class="right">{number(event.tests)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {found.length > 200 && <p class="sub">and {number(found.length - 200)} more; search to narrow</p>}
      {found.length === 0 && <p>{redirections.length === 0 ? "Nothing was redirected." : "No matching places."}</p>}
      {summary.collectives && <CollectiveList {...summary.collectives} total={summary.collectives_total} />}
    </section>
  );
}

function CollectiveList({ words: sentences, sites, total }: Collectives & { total: number }) {
  return (
    <>
      <h2>Collectives <small>{number(total)}</small></h2>
      {sentences.map((sentence) => <p key={sentence}>{visible(sentence)}</p>)}
      {total > sites.length && <p class="note">Only the {number(sites.length)} with most bytes are in this page; report.json has all.</p>}
      <div class="wide" tabIndex={0} role="region" aria-label="Collectives">
        <table>
          <thead><tr><th>Operation</th><th>Group</th><th class="right">Ranks</th><th>Place</th><th class="right">Calls</th><th class="right">Bytes</th></tr></thead>
          <tbody>
            {sites.map((site, at) => (
              <tr key={at}>
                <td><code>{visible(site.op)}</code></td><td>{visible(site.group)}</td><td class="right">{number(site.ranks)}</td>
                <td>{site.file ? <Place url={site.url} file={site.file} line={site.line} /> : "(no Python frame)"}</td>
                <td class="right">{number(site.count)}</td><td class="right">{number(site.bytes)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
