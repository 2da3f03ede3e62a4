/** Approximates how Slack renders rich text. */
import { Box } from '@mantine/core';
import { Run } from './text-run.tsx';

interface Element {
  type: string;
  text?: string;
  url?: string;
  style?: { bold?: boolean; italic?: boolean; strike?: boolean; code?: boolean } | string;
  indent?: number;
  offset?: number;
  elements?: Element[];
}

export function SlackBlocks({ blocks }: { blocks: unknown }) {
  const elements = ((blocks ?? []) as Element[]).flatMap(block => block.elements ?? []);
  return (
    <Box fz="sm" style={{ overflowWrap: 'anywhere' }}>
      {elements.map((element, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the whole preview is replaced at once
        <Block key={i} element={element} />
      ))}
    </Box>
  );
}

function Block({ element }: { element: Element }) {
  const inner = (element.elements ?? []).map((run, i) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the whole preview is replaced at once
    <Inline key={i} run={run} />
  ));
  switch (element.type) {
    case 'rich_text_quote':
      return (
        <Box
          component="blockquote"
          m="4px 0"
          pl="sm"
          style={{ borderLeft: '3px solid var(--line)', whiteSpace: 'pre-wrap' }}
        >
          {inner}
        </Box>
      );
    case 'rich_text_preformatted':
      return (
        <Box component="pre" className="card mono" m="4px 0" p={8} style={{ whiteSpace: 'pre-wrap' }}>
          {inner}
        </Box>
      );
    case 'rich_text_list': {
      const items = (element.elements ?? []).map((item, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the whole preview is replaced at once
        <li key={i}>
          <Block element={item} />
        </li>
      ));
      const style = { margin: '2px 0', paddingLeft: 22 + (element.indent ?? 0) * 18 };
      return element.style === 'ordered' ? (
        <ol start={(element.offset ?? 0) + 1} style={style}>
          {items}
        </ol>
      ) : (
        <ul style={style}>{items}</ul>
      );
    }
    default:
      return <div style={{ whiteSpace: 'pre-wrap' }}>{inner}</div>;
  }
}

function Inline({ run }: { run: Element }) {
  const style = typeof run.style === 'object' ? run.style : {};
  return <Run text={run.text ?? ''} url={run.url} {...style} />;
}
