/** Writes the schema as Kysely's table types for selects, inserts and updates. */
import type { Column, Schema, Table } from './schema-read.ts';

/** Types as `pg` returns them; bigint is parsed as a number (src/db/connection/pool.ts). */
const scalars: Record<string, string> = {
  bigint: 'number',
  boolean: 'boolean',
  bytea: 'Buffer',
  'double precision': 'number',
  integer: 'number',
  smallint: 'number',
  text: 'string',
  'timestamp with time zone': 'Date',
  uuid: 'string',
};

/** JSON is read as values and written as text, because `pg` would send an array as a PostgreSQL array. */
const jsonTypes = {
  JsonColumn: 'ColumnType<Json, string, string>',
  GeneratedJson: 'ColumnType<Json, string | undefined, string>',
  NullableJson: 'ColumnType<Json | null, string | null | undefined, string | null>',
};

export function schemaToTypes(schema: Schema): string {
  const tables = schema.tables.filter(table => !table.partition).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const body = tables.map(tableToInterface).join('\n\n');
  const uses = (name: string) => new RegExp(`\\b${name}\\b`).test(body);
  const json = Object.entries(jsonTypes).filter(([name]) => uses(name));
  const imported = [...(json.length > 0 ? ['ColumnType'] : []), ...(uses('Generated') ? ['Generated'] : [])];
  return [
    '// Generated from migrations/ by `npm run generate`.',
    ...(imported.length > 0 ? [`import type { ${imported.join(', ')} } from 'kysely';`] : []),
    ...(json.length > 0 ? ["import type { Json } from '../../core/json.ts';", ''] : ['']),
    ...json.map(([name, type]) => `type ${name} = ${type};`),
    ...(json.length > 0 ? [''] : []),
    body,
    '',
    'export interface Tables {',
    ...tables.map(({ name }) => `  ${name}: ${interfaceName(name)};`),
    '}',
    '',
  ].join('\n');
}

function tableToInterface({ name, columns }: Table): string {
  const lines = columns.map(column => `  ${column.name}: ${columnType(column, name)};`);
  return `export interface ${interfaceName(name)} {\n${lines.join('\n')}\n}`;
}

function columnType(column: Column, table: string): string {
  const hasDefault = column.default !== null || column.identity !== null;
  if (column.type === 'jsonb' || column.type === 'json')
    return column.notNull ? (hasDefault ? 'GeneratedJson' : 'JsonColumn') : 'NullableJson';
  const element = column.type.replace(/\[\]$/, '');
  const scalar = scalars[element];
  if (!scalar)
    throw new Error(`${table}.${column.name} is ${column.type}: add its TypeScript type to scripts/schema-types.ts`);
  const type = (element === column.type ? scalar : `${scalar}[]`) + (column.notNull ? '' : ' | null');
  return hasDefault ? `Generated<${type}>` : type;
}

function interfaceName(table: string): string {
  return table.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
