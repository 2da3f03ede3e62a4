import { Readable } from 'node:stream';
import { Type } from 'typebox';
import { optionalBoolean, optionalInteger } from '../../core/optional.ts';
import { exportList, importList, maxErrors, maxRows } from '../../services/audience/list-files.ts';
import { recordRead } from '../../services/operations/audit.ts';
import { endpoints } from '../server/route.ts';

const { plain } = endpoints('Distribution lists');

const ListImported = Type.Object(
  {
    rows: Type.Integer({ description: 'Rows in the file, without the header.' }),
    added: Type.Integer({ description: 'New members.' }),
    existing: Type.Integer({ description: 'Rows that were members already.' }),
    created_users: Type.Integer(),
    updated_users: Type.Integer({ description: 'Existing users whose fields changed.' }),
    opt_outs: optionalInteger({
      description: 'New opt-outs; absent when the file has no `opt_out` column.',
    }),
    errors: Type.Array(
      Type.Object({
        row: Type.Integer({ description: 'Row number as in a spreadsheet: the header is row 1.' }),
        field: Type.String(),
        message: Type.String(),
      }),
      { description: `The first ${maxErrors} errors.` },
    ),
    errors_total: Type.Integer(),
  },
  { $id: 'ListImported' },
);

export const importMembers = plain(['org', 'prj', 'pk'], {
  id: 'importMembers',
  summary: 'Import members',
  description:
    `A CSV file in UTF-8 with at most ${maxRows} rows and 10 MiB, separated by commas, semicolons or tabs. The first row ` +
    'names the columns: `email` is required; `first_name`, `last_name`, `locale`, `active`, `opt_out`, `phone`, ' +
    '`sms…`, `address.<name>` and `custom.<key>` are optional. An empty cell leaves the field unchanged. In a custom field, ' +
    'numbers, `true`, `false` and other JSON are stored as such. Unknown emails become users. `opt_out` is `all`, or ' +
    'category slugs separated by spaces; it takes effect together with the membership.',
  problems: [409],
  consumes: 'text/csv',
  bodyLimit: 10 * 1024 * 1024,
  body: Type.String({ description: 'The file.' }),
  query: Type.Object({
    on_error: Type.Optional(
      Type.Enum(['refuse', 'skip'], {
        default: 'refuse',
        description: 'What to do with an invalid row: reject the whole file, or skip the row.',
      }),
    ),
    dry_run: optionalBoolean({ description: 'Returns what would happen, without changing anything.' }),
  }),
  answer: ListImported,
  handle: ({ deps, organization, project, list, body, query: { on_error, dry_run = false } }) =>
    importList(deps, organization.id, project, list, body, { skip: on_error === 'skip', dryRun: dry_run }),
});

export const exportMembers = plain(['org', 'prj', 'pk'], {
  id: 'exportMembers',
  readsReplica: true,
  summary: 'Export members',
  description:
    'Returns a CSV file that can be imported again. A cell that a spreadsheet would run as a formula is prefixed with a ' +
    'quotation mark, which the import removes.',
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
