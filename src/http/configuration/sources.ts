import { Type } from 'typebox';
import { responseFieldsOf } from '../../core/configuration/entries.ts';
import { source as noun } from '../../core/configuration/nouns/source.ts';
import { setupOf } from '../../core/sources/setup.ts';
import * as queries from '../../db/history/sources/sources.ts';
import * as sources from '../../services/configuration/sources.ts';
import { list, plain } from '../server/route.ts';
import { nullable } from '../server/schemas.ts';
import { addressedEndpoints } from './entry-endpoints.ts';

const tag = 'Sources';

const address = {
  token: Type.String({ description: 'Also the integration key for clients of PagerDuty and Opsgenie.' }),
  url: Type.String({ description: 'Where the sender posts its alerts.' }),
};
const SourceAddress = Type.Object(
  {
    ...address,
    has_secret: Type.Boolean({ description: 'Whether senders are verified with a secret.' }),
    has_update_secret: Type.Boolean({ description: 'Whether requests to the sender are authenticated.' }),
  },
  { $id: 'SourceAddress' },
);

const urlPath = (token: string) => `/in/${token}/`;

export const { entry, rotate: rotateSourceToken } = addressedEndpoints({
  kind: sources.source,
  tag,
  ...address,
  urlPath,
  create: sources.createSource,
  update: sources.updateSource,
  descriptions: {
    create:
      'The sender can post to its address at once. Each of its alerts triggers the event of the first route that applies.',
    update: 'A new token replaces the stored one at once; null generates one. Null removes the secret.',
    delete: 'The sender gets 404. What its alerts have triggered is kept.',
  },
});

export const listOrganizationSources = list(['org'], {
  id: 'listOrganizationSources',
  summary: 'List sources of the organization',
  description: 'The sources of all applications, and when each last received something.',
  tag,
  item: Type.Object(
    {
      id: Type.Integer(),
      project: Type.String({ description: 'Slug.' }),
      application: Type.String({ description: 'Slug.' }),
      slug: Type.String(),
      name: Type.String(),
      use: responseFieldsOf(noun).use,
      last_received_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
        description: 'Null: nothing in the last 7 days.',
      }),
      last_state: nullable(Type.String(), 'What became of the last payload.'),
    },
    { $id: 'OrganizationSource' },
  ),
  list: async ({ deps, organization }, page) =>
    (await queries.listOrganizationSources(deps.db, organization.id, page)).map(row => ({
      ...row,
      use: row.use as never,
      last_received_at: row.last_received_at?.toISOString() ?? null,
    })),
});

export const retrieveSourceAddress = plain(['org', 'prj', 'app', 'source'], {
  id: 'retrieveSourceAddress',
  summary: 'Retrieve address of source',
  description: 'The address alone is enough to trigger the events of the source, unless it has a secret.',
  tag,
  status: 200,
  answer: SourceAddress,
  handle: ({ deps, organization, source, link }) => {
    const { token, ...secrets } = sources.readSourceSecrets(deps, organization.id, source);
    return { token, url: link(urlPath(token)), ...secrets };
  },
});

export const retrieveSourceSetup = plain(['org', 'prj', 'app', 'source'], {
  id: 'retrieveSourceSetup',
  summary: 'Retrieve setup of senders',
  description: 'What to paste into each sender, with the address of the source. The sender of the preset comes first.',
  tag,
  status: 200,
  answer: Type.Array(
    Type.Object(
      {
        name: Type.String({ description: 'Stable, such as alertmanager.' }),
        title: Type.String(),
        hint: Type.String({ description: 'Where it belongs.' }),
        text: Type.String(),
      },
      { $id: 'SourceSetup' },
    ),
  ),
  handle: ({ deps, organization, source, link }) => {
    const { token, has_secret } = sources.readSourceSecrets(deps, organization.id, source);
    const mailName = sources.mailNameOfSource(deps, organization.id, source.id, token);
    return setupOf({ base: link(''), token, mailName, hasSecret: has_secret, use: source.use });
  },
});
