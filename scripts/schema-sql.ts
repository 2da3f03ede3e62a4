/** Writes the schema as readable, valid SQL. */
import type { Column, Schema, Table } from './schema-read.ts';

const header = '-- Generated from migrations/ by npm run generate, for reading. The migrations explain the reasons.';

export function schemaToSql({ sequences, tables, views, functions }: Schema): string {
  const triggers = tables.flatMap(table => table.triggers).map(text => `${text.replace(' FOR EACH', '\n  FOR EACH')};`);
  const parts = [
    header,
    ...(sequences.length > 0 ? [sequences.map(name => `CREATE SEQUENCE ${name};`).join('\n')] : []),
    ...tables.map(table => tableToSql(table).replaceAll(/'::(text|jsonb)\b/g, "'")),
    ...views,
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
  const indexes = table.indexes.map(text => `\n${text.replace(' ON ONLY ', ' ON ').replace(' USING btree', '')}`);
  const ending = partitionedBy ? `) PARTITION BY ${partitionedBy};` : ');';
  const kind = unlogged ? 'UNLOGGED TABLE' : 'TABLE';
  return `CREATE ${kind} ${name} (\n${lines.map(line => `  ${line}`).join(',\n')}\n${ending}${indexes.join('')}`;
}

function columnToSql(column: Column): string {
  const { name, type, notNull, identity, generated } = column;
  const parts = [name, type.replace('timestamp with time zone', 'timestamptz')];
  if (column.collation) parts.push(`COLLATE ${column.collation}`);
  if (notNull) parts.push('NOT NULL');
  if (identity) parts.push(`GENERATED ${identity} AS IDENTITY`);
  if (generated) parts.push(`GENERATED ALWAYS AS (${column.default}) ${generated}`);
  else if (column.default !== null) parts.push(`DEFAULT ${column.default}`);
  return parts.join(' ');
}
