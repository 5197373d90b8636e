// A copy of one of the suite's files, with a link to each line.

import { useEffect, useState } from "preact/hooks";

import type { Sources, Summary } from "../data";
import { load } from "../loader";
import { Name } from "../parts";
import { link } from "../route";
import { visible } from "../text";
import { VirtualList } from "../virtual";

export function SourcePage({ summary, path, line }: { summary: Summary; path: string; line: number }) {
  const [text, setText] = useState<string | null | undefined>();
  useEffect(() => {
    let wanted = true;
    const find = async () => {
      for (const part of summary.parts.filter((name) => name.startsWith("source-"))) {
        const { files } = await load<Sources>(part);
        if (Object.hasOwn(files, path)) return files[path]!;
      }
      return null;
    };
    find().then((found) => wanted && setText(found), () => wanted && setText(null));
    return () => { wanted = false; };
  }, [summary, path]);
  if (text === undefined) return <p class="note" role="status">Loading…</p>;
  if (text === null) return <section><h1><Name text={path} /></h1><p>This page has no copy of the file.</p></section>;
  const lines = text.split("\n");
  return (
    <section class="source">
      <h1><Name text={path} length={400} /></h1>
      <VirtualList count={lines.length} height={20} label="Source" active={line - 1} reveal={Math.max(0, line - 1)}
        onActive={(at) => history.replaceState(null, "", link("source", path, { line: String(at + 1) }))} onOpen={() => {}}
        row={(at) => (
          <>
            <div role="cell" class="lineno"><a href={link("source", path, { line: String(at + 1) })}>{at + 1}</a></div>
            <div role="cell" class="code">{visible(lines[at]!.slice(0, 2000)) || " "}</div>
          </>
        )} />
    </section>
  );
}
