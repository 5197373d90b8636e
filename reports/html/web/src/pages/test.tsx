// One test: its state over runs, what went wrong, where, what devices did, how to repeat it.

import type { ComponentChildren } from "preact";

import type { Detail, Failure, LogExcerpt, Subtest } from "../data";
import { Command, Copy, LongText, Name, outside, Part, Place, PlaceText, Prose, Some, sourceHref, StateSign, StateWord } from "../parts";
import { link } from "../route";
import { isServed, siteRoot } from "../loader";
import { Table } from "../table";
import { counted, date, duration, number, safeUrl, visible, words } from "../text";

export function TestPage({ table, id }: { table: Table; id: string }) {
  const row = table.find(id);
  if (row === undefined)
    return <section><h1>No such test</h1><p>This run has no test <Name text={id} length={500} />.</p><p><a href={link("tests")}>All tests</a></p></section>;
  const { index } = table;
  const block = index.block[row]!;
  const module = index.modules[index.module[row]!]!;
  const file = index.files[index.file[row]!];
  return (
    <article class="test">
      <p class="crumbs"><a href={link("tests", "", { folder: module.path })}><Name text={module.path} length={200} /></a></p>
      <h1><Name text={index.name[row]!} length={block < 0 ? 2000 : 400} /></h1>
      <p class="facts">
        <StateWord state={table.state(row)} /> in {duration(index.ms[row]! / 1000)}
        {table.marks(row).map((mark) => <span key={mark} class="tag">{words(mark)}</span>)}{" "}
        {file && <Place url={table.url(row)} file={file.path} line={index.line[row]!} />}
        <Copy text={id} label="Copy the name" />{isServed && <a href={`/tests/${encodeURIComponent(id)}/`}>all its results</a>}
      </p>
      {block < 0 ? <p class="sub">No further details.</p>
        : <Part<Detail[]> name={`details-${block}`}>{(details) => {
          const detail = table.detail(details, row);
          return detail ? <More detail={detail} table={table} /> : <p class="note" role="status">The run goes on. This test is read again in a moment.</p>;
        }}</Part>}
    </article>
  );
}

function More({ detail, table }: { detail: Detail; table: Table }) {
  const { failure, diagnosis, attribution, reproduce } = detail;
  return (
    <>
      {detail.history.length > 1 && <History detail={detail} />}
      {detail.reason && <Block title="Reason"><LongText text={detail.reason} label="Reason" /></Block>}
      {failure && <FailureBlock failure={failure} title="Failure" table={table} />}
      {failure?.also.map((also, at) => <FailureBlock key={at} failure={also} title="It also failed" table={table} />)}
      {detail.expectation && (
        <Block title="Expectation">
          <p>{words(detail.expectation.fit)}: expected was {detail.expectation.expect.map(words).join(" or ")}, by <code><Name text={detail.expectation.test} length={300} /></code>
            {detail.expectation.reason && <>; <Name text={detail.expectation.reason} length={500} /></>}
            {safeUrl(detail.expectation.issue) && <> (<a href={safeUrl(detail.expectation.issue)} {...outside(detail.expectation.issue!)}>issue</a>)</>}</p>
        </Block>
      )}
      {diagnosis && (
        <Block title="Tried again with a recovery">
          <p><Prose text={diagnosis.words} /></p>
          <ul class="plain">{diagnosis.attempts.map((attempt) => (
            <li key={attempt.attempt}><StateSign state={attempt.state} /> {visible(attempt.step)}{attempt.key_line && <>: <Name text={attempt.key_line} length={300} /></>}</li>
          ))}</ul>
        </Block>
      )}
      {attribution && <Block title="Attribution"><p><strong>{words(attribution.cause)}</strong>: <Prose text={attribution.words} /></p></Block>}
      {(reproduce || detail.issue) && (
        <Block title="Reproduce">
          {reproduce && <><Command text={reproduce.runner} label="with the runner" /><Command text={reproduce.plain} label="without it" /></>}
          {detail.issue && <p><Copy text={detail.issue} label="Copy for an issue" /></p>}
        </Block>
      )}
      {detail.redirected_at && <Block title="First asked for another device at"><p><PlaceText place={detail.redirected_at.place} url={detail.redirected_at.url} /></p></Block>}
      {detail.redirections.length > 0 && (
        <Block title="Redirections">
          <ul class="plain">{detail.redirections.map((event, at) => (
            <li key={at}><span class="tag">{visible(event.kind)}</span> <code>{visible(event.op)}</code> {visible(event.from)}{event.to && <> → {visible(event.to)}</>}
              {event.count > 1 && <> ({number(event.count)} times)</>} {event.file && <Place url={event.url} file={event.file} line={event.line} />}</li>
          ))}</ul>
        </Block>
      )}
      {detail.refusals.length > 0 && (
        <Block title="What the device refused">
          <ul class="plain">{detail.refusals.map((refusal, at) => (
            <li key={at}><Name text={refusal.message} length={500} /> {refusal.place && <PlaceText place={refusal.place} url={refusal.url} />}</li>
          ))}</ul>
        </Block>
      )}
      {detail.attempts.length > 0 && (
        <Block title="Attempts">
          <ol class="plain">{detail.attempts.map((attempt) => (
            <li key={attempt.attempt}>{attempt.attempt}. <StateSign state={attempt.state} /> {words(attempt.state)}, {words(attempt.kind)}{attempt.forked && ", forked"}, {duration(attempt.duration_s)}
              {attempt.key_line && <>: <Name text={attempt.key_line} length={300} /></>}
              {attempt.traceback && <LongText text={attempt.traceback} label="Traceback" />}</li>
          ))}</ol>
        </Block>
      )}
      {detail.subtests.length > 0 && <Subtests list={detail.subtests} table={table} />}
      {detail.log_excerpt && <LogBlock excerpt={detail.log_excerpt} />}
      {detail.no_excerpt && <p class="sub">No excerpt of the log: <Name text={detail.no_excerpt} length={300} /></p>}
      {detail.log && <p class="sub">Log: {siteRoot === undefined && safeUrl(detail.log_url) ? <a href={safeUrl(detail.log_url)}><Name text={detail.log} /></a> : <Name text={detail.log} />}</p>}
    </>
  );
}

const Block = ({ title, children }: { title: string; children: ComponentChildren }) => (
  <section class="block"><h2>{title}</h2>{children}</section>
);

function LogBlock({ excerpt }: { excerpt: LogExcerpt }) {
  const { first_line, lines, about_test } = excerpt;
  if (lines.length === 0) return <p class="sub">The log is empty.</p>;
  return (
    <Block title="Log">
      <details>
        <summary>{about_test ? `From line ${number(first_line)}` : `No line names the test: the log's end, from line ${number(first_line)}`}</summary>
        <LongText text={lines.join("\n")} label="Log" />
      </details>
    </Block>
  );
}

function History({ detail }: { detail: Detail }) {
  return (
    <Block title={`In the last ${counted(detail.history.length, "run")}`}>
      <ol class="strip">{detail.history.map((point) => (
        <li key={point.run} title={`${date(point.started)}: ${words(point.state)}`}><StateSign state={point.state} /><span class="offscreen">{date(point.started)}: {words(point.state)}</span></li>
      ))}</ol>
    </Block>
  );
}

function FailureBlock({ failure, title, table }: { failure: Failure; title: string; table: Table }) {
  const cause = failure.cause;
  return (
    <Block title={title}>
      <p class="key"><code><Name text={failure.key_line} length={2000} /></code></p>
      {cause && (
        <p class="sub">
          Cause: <a href={link("tests", "", { cause, group: "cluster" })}>{words(cause)}</a>
          {failure.class && <> ({words(failure.class)})</>}{failure.confidence && <>, {visible(failure.confidence)} confidence</>}{failure.rule && <>, rule {visible(failure.rule)}</>}
          {failure.signature && table.index.signatures.includes(failure.signature) && <> · <a href={link("tests", "", { cluster: failure.signature })}>tests with the same error</a></>}
        </p>
      )}
      {failure.frames.length > 0 && (
        <ol class="frames">
          {failure.frames.map((frame, at) => (
            <li key={at} class={frame.suite ? "suite" : ""}><Place url={frame.url} file={frame.file} line={frame.line} /> in <Name text={frame.function} length={200} /></li>
          ))}
        </ol>
      )}
      {failure.traceback && <LongText text={failure.traceback} label="Traceback"><Traceback failure={failure} /></LongText>}
      {!failure.traceback && failure.message && <LongText text={failure.message} label="Message" />}
    </Block>
  );
}

// The traceback with its lines of the suite linked: 'File "…", line N' as Python writes it, or
// "file:N:" as pytest does.
function Traceback({ failure }: { failure: Failure }) {
  const links = new Map<number, Failure["frames"]>();
  for (const frame of failure.frames) if (frame.url) links.set(frame.line, [...(links.get(frame.line) ?? []), frame]);
  return (
    <>
      {failure.traceback.split("\n").map((line, at) => {
        const found = /^\s*File "([^"]+)", line (\d+)/.exec(line) ?? /^([^\s:][^:]*):(\d+): /.exec(line);
        const frame = found && links.get(Number(found[2]))?.find((one) => found[1]!.endsWith(one.file) || one.file.endsWith(found[1]!));
        const href = frame && sourceHref(frame.url);
        const text = visible(line);
        return <span key={at}>{href ? <a href={href} {...outside(href)}>{text}</a> : text}{"\n"}</span>;
      })}
    </>
  );
}

function Subtests({ list, table }: { list: Subtest[]; table: Table }) {
  const bad = list.filter((subtest) => subtest.failure);
  return (
    <Block title={`${counted(list.length, "sub-test")}${bad.length ? `, ${number(bad.length)} failed` : ""}`}>
      <ul class="cards">
        <Some items={[...bad, ...list.filter((subtest) => !subtest.failure)]} first={20} what="sub-tests">{(subtest) => (
          <li key={subtest.id}>
            {subtest.failure ? (
              <details><summary><StateSign state={subtest.state} /> <Name text={subtest.id} length={300} /></summary><FailureBlock failure={subtest.failure} title="Failure" table={table} /></details>
            ) : <><StateSign state={subtest.state} /> <Name text={subtest.id} length={300} />{subtest.reason && <>: <Name text={subtest.reason} length={300} /></>}</>}
          </li>
        )}</Some>
      </ul>
    </Block>
  );
}
