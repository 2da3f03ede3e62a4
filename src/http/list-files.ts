import { Readable } from 'node:stream';
import { Type } from 'typebox';
import { recordRead } from '../services/audit.ts';
import { exportList, importList, mostMistakes, mostRows } from '../services/list-files.ts';
import { plain } from './route.ts';

const tag = 'Distribution lists';

const ListImported = Type.Object(
  {
    rows: Type.Integer({ description: 'In the file, without its header.' }),
    added: Type.Integer({ description: 'New members.' }),
    existing: Type.Integer({ description: 'Members already.' }),
    created_users: Type.Integer(),
    updated_users: Type.Integer({ description: 'Users of whom the file said something new.' }),
    opt_outs: Type.Optional(
      Type.Integer({
        description: 'Where the file has such a column: choices made for people who do not want something.',
      }),
    ),
    errors: Type.Array(
      Type.Object({
        row: Type.Integer({ description: 'As spreadsheets number them: the header is row 1.' }),
        field: Type.String(),
        message: Type.String(),
      }),
      { description: `The first ${mostMistakes} of them.` },
    ),
    errors_total: Type.Integer(),
  },
  { $id: 'ListImported' },
);

export const importMembers = plain(['org', 'prj', 'pk'], {
  id: 'importMembers',
  summary: 'Import members',
  description:
    `A file of comma-separated values in UTF-8, at most ${mostRows} rows and 10 MiB; semicolons and tabs are understood ` +
    'too. The first row names the columns: `email` is required; `first_name`, `last_name`, `locale`, `active`, `opt_out`, `phone`, ' +
    '`sms…`, `address.<name>` and `custom.<key>` may be there. An empty cell leaves what is there. A cell of a custom ' +
    'field that is a number, `true`, `false` or other JSON is taken as such. Unknown emails become users. ' +
    '`opt_out` is `all`, or slugs of categories with spaces between them: it counts before anything is sent.',
  tag,
  status: 200,
  problems: [409],
  consumes: 'text/csv',
  bodyLimit: 10 * 1024 * 1024,
  body: Type.String({ description: 'The file.' }),
  query: Type.Object({
    on_error: Type.Optional(
      Type.Enum(['refuse', 'skip'], {
        default: 'refuse',
        description: 'Whether a row with a mistake refuses the whole file, or is left out.',
      }),
    ),
    dry_run: Type.Optional(Type.Boolean({ description: 'Only tells what would happen.' })),
  }),
  answer: ListImported,
  handle: ({ deps, organization, project, list, body, query: { on_error, dry_run = false } }) =>
    importList(deps, organization.id, project, list, body, { skip: on_error === 'skip', dryRun: dry_run }),
});

export const exportMembers = plain(['org', 'prj', 'pk'], {
  id: 'exportMembers',
  summary: 'Export members',
  description:
    'A file that can be imported again. A cell that a spreadsheet would run as a formula has a quotation mark before it, ' +
    'which the import takes away.',
  tag,
  status: 200,
  produces: 'text/csv',
  answer: Type.String(),
  handle: async ({ deps, organization, project, list, request, reply }) => {
    const path = `${project.slug}/${list.name}`;
    if (request.method !== 'HEAD') await recordRead(deps, organization.id, { action: 'export', noun: 'list', path });
    const name = list.name.replaceAll(/[^\p{L}\p{N} ._-]/gu, '_');
    reply
      .type('text/csv; charset=utf-8')
      .header('content-disposition', `attachment; filename*=UTF-8''${encodeURIComponent(name)}.csv`)
      .serializer((text: string) => text);
    const rows = request.method === 'HEAD' ? [] : exportList(deps, organization.id, list.id);
    return reply.send(Readable.from(rows, { objectMode: false })) as never;
  },
});
