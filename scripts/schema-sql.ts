/** The schema as SQL that reads well, and that PostgreSQL would take. */
import type { Column, Schema, Table } from './schema-read.ts';

const header = '-- Generated from migrations/ by npm run generate; for reading. The reasons are told there.';

export function schemaToSql({ sequences, tables, functions }: Schema): string {
  const triggers = tables.flatMap(table => table.triggers).map(text => `${text.replace(' FOR EACH', '\n  FOR EACH')};`);
  const parts = [
    header,
    ...(sequences.length > 0 ? [sequences.map(name => `CREATE SEQUENCE ${name};`).join('\n')] : []),
    ...tables.map(table => tableToSql(table).replaceAll(/'::(text|jsonb)\b/g, "'")),
    ...functions.map(text => `${text.replace('FUNCTION public.', 'FUNCTION ').trimEnd()};`),
    ...(triggers.length > 0 ? [triggers.join('\n')] : []),
  ];
  return `${parts.join('\n\n')}\n`;
}

function tableToSql(table: Table): string {
  const { name, unlogged, partition, partitionedBy } = table;
  if (partition) return `CREATE TABLE ${name} PARTITION OF ${partition.of} ${partition.bound};`;
  const lines = [
    ...table.columns.map(columnToSql),
    ...table.constraints.map(constraint => `CONSTRAINT ${constraint.name} ${constraint.definition}`),
  ];
  const indexes = table.indexes.map(text => `\n${text.replace(' ON ONLY ', ' ON ').replace(' USING btree', '')};`);
  const ending = partitionedBy ? `) PARTITION BY ${partitionedBy};` : ');';
  const kind = unlogged ? 'UNLOGGED TABLE' : 'TABLE';
  return `CREATE ${kind} ${name} (\n${lines.map(line => `  ${line}`).join(',\n')}\n${ending}${indexes.join('')}`;
}

function columnToSql(column: Column): string {
  const { name, type, notNull, identity, generated } = column;
  const words = [name, type.replace('timestamp with time zone', 'timestamptz')];
  if (column.collation) words.push(`COLLATE ${column.collation}`);
  if (notNull) words.push('NOT NULL');
  if (identity) words.push(`GENERATED ${identity} AS IDENTITY`);
  if (generated) words.push(`GENERATED ALWAYS AS (${column.default}) ${generated}`);
  else if (column.default !== null) words.push(`DEFAULT ${column.default}`);
  return words.join(' ');
}
