/** Approximates how Teams renders an Adaptive Card. */
import { Box, Group, Stack } from '@mantine/core';
import { Run } from './text-run.tsx';

interface Element {
  type: string;
  items?: Element[];
  columns?: Element[];
  rows?: { cells: Element[] }[];
  inlines?: TextRun[];
  width?: string;
  separator?: boolean;
  style?: string;
}

interface TextRun {
  text: string;
  size?: string;
  weight?: string;
  italic?: boolean;
  strikethrough?: boolean;
  fontType?: string;
  selectAction?: { url: string };
}

interface Card {
  body?: Element[];
  actions?: { title: string; url: string }[];
}

export function TeamsCard({ card }: { card: unknown }) {
  const { body = [], actions = [] } = (card ?? {}) as Card;
  return (
    <Stack gap={8} fz="sm" style={{ overflowWrap: 'anywhere' }}>
      <Elements elements={body} />
      {actions.length > 0 && (
        <Group gap="xs">
          {actions.map(({ title, url }) => (
            <a key={`${title} ${url}`} href={url} target="_blank" rel="noreferrer" className="cardaction">
              {title}
            </a>
          ))}
        </Group>
      )}
    </Stack>
  );
}

function Elements({ elements = [] }: { elements?: Element[] }) {
  return elements.map((element, i) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the whole preview is replaced at once
    <One key={i} element={element} />
  ));
}

function One({ element }: { element: Element }) {
  switch (element.type) {
    case 'RichTextBlock':
      return (
        <div style={{ whiteSpace: 'pre-wrap' }}>
          {element.inlines?.map(({ text, size, weight, italic, strikethrough, fontType, selectAction }, i) => (
            <Run
              // biome-ignore lint/suspicious/noArrayIndexKey: the whole preview is replaced at once
              key={i}
              text={text}
              bold={weight === 'Bolder'}
              italic={italic}
              strike={strikethrough}
              code={fontType === 'Monospace'}
              large={size !== undefined}
              url={selectAction?.url}
            />
          ))}
        </div>
      );
    case 'ColumnSet':
      return (
        <Group gap={8} align="flex-start" wrap="nowrap">
          {element.columns?.map((column, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the whole preview is replaced at once
            <Box key={i} flex={column.width === 'stretch' ? 1 : 'none'} miw={0}>
              <Elements elements={column.items} />
            </Box>
          ))}
        </Group>
      );
    case 'Table':
      return (
        <table className="cardtable">
          <tbody>
            {element.rows?.map(({ cells }, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the whole preview is replaced at once
              <tr key={i}>
                {cells.map((cell, column) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: the whole preview is replaced at once
                  <td key={column}>
                    <Elements elements={cell.items} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      );
    default:
      return (
        <Box
          pl={element.style === 'emphasis' ? 'sm' : 0}
          style={{
            borderLeft: element.style === 'emphasis' ? '3px solid var(--line)' : undefined,
            borderTop: element.separator ? '1px solid var(--line)' : undefined,
          }}
        >
          <Elements elements={element.items} />
        </Box>
      );
  }
}
