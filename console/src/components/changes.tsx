/** Shows a change field by field: removed values struck through, added values marked. */
import { Box, Table, Text } from '@mantine/core';
import { texts } from '../texts/common.ts';

interface ChangesProps {
  before: unknown;
  after: unknown;
  /** Heads of the two columns. */
  labels?: { before: string; after: string };
}

export function Changes({ before, after, labels = { before: texts.before, after: texts.after } }: ChangesProps) {
  const fields = fieldsOf(before, after);
  if (fields.length === 0) return null;
  const both = before !== null && after !== null;
  return (
    <Box style={{ overflowX: 'auto' }} mt="sm">
      <Table className="table" verticalSpacing={6}>
        <caption hidden>{texts.changes}</caption>
        <Table.Thead>
          <Table.Tr>
            <Table.Th scope="col" w={160}>
              {texts.field}
            </Table.Th>
            {before !== null && <Table.Th scope="col">{labels.before}</Table.Th>}
            {after !== null && <Table.Th scope="col">{both ? labels.after : texts.value}</Table.Th>}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {fields.map(({ name, was, is }) => (
            <Table.Tr key={name}>
              <Table.Th scope="row" style={{ verticalAlign: 'top' }}>
                <span className="mono">{name}</span>
              </Table.Th>
              {before !== null && <Value value={was} change={both ? 'removed' : undefined} />}
              {after !== null && <Value value={is} change={both ? 'added' : undefined} />}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Box>
  );
}

function Value({ value, change }: { value: unknown; change?: 'removed' | 'added' }) {
  return (
    <Table.Td style={{ verticalAlign: 'top' }}>
      {value === undefined ? (
        <Text component="span" size="xs" c="dimmed">
          –
        </Text>
      ) : (
        <Text
          component={change === 'removed' ? 'del' : change === 'added' ? 'ins' : 'span'}
          size="xs"
          className={`mono value ${change ?? ''}`}
        >
          {textOf(value)}
        </Text>
      )}
    </Table.Td>
  );
}

interface Field {
  name: string;
  was: unknown;
  is: unknown;
}

/** Returns the fields that differ, or all of them when there is no before or no after. */
function fieldsOf(before: unknown, after: unknown): Field[] {
  if (!isObject(before) && !isObject(after)) {
    return before === null && after === null
      ? []
      : [{ name: 'value', was: before ?? undefined, is: after ?? undefined }];
  }
  const was = isObject(before) ? before : {};
  const is = isObject(after) ? after : {};
  const names = [...new Set([...Object.keys(was), ...Object.keys(is)])];
  return names
    .map(name => ({ name, was: was[name], is: is[name] }))
    .filter(field => !(isObject(before) && isObject(after)) || textOf(field.was) !== textOf(field.is));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? '');
}
