/** Renders Markdown as an Adaptive Card for Teams. The card's own Markdown is not used, only runs of text. */
import type { Json, JsonObject } from '../../json.ts';
import { resolveLink } from '../links.ts';
import { joinParts, type Values } from '../template/slots.ts';
import type { Block, Inline } from './markdown.ts';
import { type Run, type Style, toRuns } from './runs.ts';

export function toAdaptiveCard(title: string, blocks: readonly Block[], values: Values): Json {
  const heading = title === '' ? [] : [richText([{ text: title, style: { bold: true } }], { size: 'Large' })];
  const actions = blocks.flatMap((block): JsonObject[] => {
    const url = block.type === 'button' ? resolveLink(block.link.href, values) : undefined;
    if (block.type !== 'button' || url === undefined) return [];
    return [{ type: 'Action.OpenUrl', title: plain(toRuns(block.link.inner, values)).slice(0, 100) || url, url }];
  });
  return {
    type: 'AdaptiveCard',
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    version: '1.5',
    body: [...heading, ...blocks.flatMap(block => toElements(block, values, true))],
    ...(actions.length > 0 && { actions: actions.slice(0, 6) }),
    msteams: { width: 'Full' },
  };
}

function toElements(block: Block, values: Values, isTop = false): JsonObject[] {
  switch (block.type) {
    case 'paragraph':
      return richTexts(toRuns(block.inner, values));
    case 'button': {
      const isAction = isTop && resolveLink(block.link.href, values) !== undefined;
      return isAction ? [] : richTexts(toRuns([block.link], values, { bold: true }));
    }
    case 'heading':
      return richTexts(toRuns(block.inner, values, { bold: true }), { size: block.depth === 1 ? 'Large' : 'Medium' });
    case 'code':
      return richTexts([{ text: joinParts(block.parts, values), style: { code: true } }]);
    case 'rule':
      return [{ type: 'Container', separator: true, items: [] }];
    case 'quote': {
      const items = block.blocks.flatMap(inner => toElements(inner, values));
      return [{ type: 'Container', style: 'emphasis', items }];
    }
    case 'list':
      return block.items.flatMap(({ checked, blocks }, i) => {
        const bullet =
          checked === undefined ? (block.start === undefined ? '•' : `${block.start + i}.`) : checked ? '☑' : '☐';
        const items = blocks.flatMap(inner => toElements(inner, values));
        const columns = [
          { type: 'Column', width: 'auto', items: [richText([{ text: bullet, style: {} }])] },
          { type: 'Column', width: 'stretch', items },
        ];
        return [{ type: 'ColumnSet', spacing: 'Small', columns }];
      });
    case 'table': {
      const toCell = (style: Style) => (cell: Inline[], column: number) => ({
        type: 'TableCell',
        items: richTexts(toRuns(cell, values, style), { horizontalAlignment: block.align[column] ?? 'left' }),
      });
      const toRow = (cells: Inline[][], style: Style) => ({ type: 'TableRow', cells: cells.map(toCell(style)) });
      const rows = [toRow(block.header, { bold: true }), ...block.rows.map(row => toRow(row, {}))];
      return [{ type: 'Table', columns: block.header.map(() => ({ width: 1 })), firstRowAsHeader: true, rows }];
    }
  }
}

function richTexts(runs: Run[], more: JsonObject = {}): JsonObject[] {
  return runs.length === 0 ? [] : [richText(runs, more)];
}

function richText(runs: Run[], { size, ...more }: JsonObject = {}): JsonObject {
  const inlines = runs.map(({ text, style, url }) => ({
    type: 'TextRun',
    text,
    ...(size !== undefined && { size }),
    ...(style.bold && { weight: 'Bolder' }),
    ...(style.italic && { italic: true }),
    ...(style.strike && { strikethrough: true }),
    ...(style.code && { fontType: 'Monospace' }),
    ...(url !== undefined && { selectAction: { type: 'Action.OpenUrl', url } }),
  }));
  return { type: 'RichTextBlock', ...more, inlines };
}

function plain(runs: readonly Run[]): string {
  return runs
    .map(({ text }) => text)
    .join('')
    .replace(/\s+/g, ' ');
}
