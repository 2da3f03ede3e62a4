import { type Static, Type } from 'typebox';
import { OrganizationDocument } from '../../core/configuration/document.ts';
import { AppError, invalid } from '../../core/errors.ts';
import { gapLimits } from '../../core/oncall/gaps.ts';
import * as declarative from '../../services/configuration/declarative/declarative.ts';
import { listPlannedGaps as findPlannedGaps } from '../../services/configuration/declarative/planned-gaps.ts';
import type { Deps } from '../../services/deps.ts';
import { recordRead } from '../../services/operations/audit.ts';
import { plain } from '../server/route.ts';
import { time } from '../server/schemas.ts';

const bodyLimit = 10 * 1024 * 1024;

const ConfigurationRequest = Type.Object(
  {
    // By reference, so that the OpenAPI document contains it once.
    organization: Type.Unsafe<OrganizationDocument>({ $ref: 'OrganizationDocument#' }),
    prune: Type.Optional(
      Type.Boolean({ default: false, description: 'Also delete stored objects that are missing from a section.' }),
    ),
  },
  { $id: 'ConfigurationRequest', additionalProperties: false },
);

const ConfigurationChanges = Type.Object(
  {
    changes: Type.Array(
      Type.Object({
        action: Type.Enum(['create', 'update', 'delete']),
        noun: Type.String({ description: 'organization, channel, user, address, project, list, member, …' }),
        path: Type.String({ description: 'Slugs and names: acme/shop/web/order-paid/receipt.' }),
        fields: Type.Array(
          Type.Object({
            field: Type.String(),
            from: Type.Unknown({ description: 'Null: absent. Secrets are shown as (secret).' }),
            to: Type.Unknown(),
          }),
          { description: 'The changed fields of an update.' },
        ),
      }),
      { description: 'In the order in which they are applied.' },
    ),
  },
  { $id: 'ConfigurationChanges' },
);

const PlannedGaps = Type.Object(
  {
    until: time('Until when gaps were looked for.'),
    complete: Type.Boolean({ description: 'False: there may be more gaps.' }),
    gaps: Type.Array(
      Type.Object({
        schedule: Type.String({ description: 'Path: acme/ops/primary.' }),
        from: time(),
        until: time(),
        message: Type.String({ description: 'What is wrong.' }),
        advice: Type.String({ description: 'What to do about it.' }),
      }),
    ),
  },
  { $id: 'PlannedGaps' },
);

type ConfigurationOperation<Result> = (
  deps: Deps,
  document: { organizations: object[] },
  options: { prune: boolean },
) => Promise<Result>;

/** Runs an operation on one organization. Fields in errors are renamed to their path in the request body. */
async function run<Result>(
  operation: ConfigurationOperation<Result>,
  deps: Deps,
  slug: string,
  body: Static<typeof ConfigurationRequest>,
): Promise<Result> {
  const { organization, prune = false } = body;
  if (organization.slug !== slug) {
    throw invalid({ 'organization/slug': [`must be ${slug}, the organization in the path`] });
  }
  try {
    return await operation(deps, { organizations: [organization] }, { prune });
  } catch (error) {
    if (!(error instanceof AppError) || !error.details.fields) throw error;
    const rename = (text: string) => text.replace(/organizations\/0(?=\/|$)/, 'organization');
    const fields = Object.entries(error.details.fields).map(([field, messages]) => [
      rename(field),
      messages.map(rename),
    ]);
    throw invalid(Object.fromEntries(fields), error.code);
  }
}

export const exportConfiguration = plain(['org'], {
  id: 'exportConfiguration',
  summary: 'Export configuration',
  description: 'Returns the whole configuration as one document, without secrets.',
  tag: 'Configuration',
  status: 200,
  answer: OrganizationDocument,
  handle: async ({ deps, organization, reply }) => {
    // A serializer made from the schema would fill in the defaults that the document omits.
    reply.serializer(JSON.stringify).type('application/json; charset=utf-8');
    const { organizations } = await declarative.exportConfiguration(deps, [organization.slug]);
    await recordRead(deps, organization.id, { action: 'export', noun: 'organization', path: organization.slug });
    return organizations[0]!;
  },
});

export const planConfiguration = plain(['org'], {
  id: 'planConfiguration',
  summary: 'Plan configuration',
  description: 'Returns what applying the document would change. Changes nothing.',
  tag: 'Configuration',
  status: 200,
  body: ConfigurationRequest,
  bodyLimit,
  answer: ConfigurationChanges,
  handle: async ({ deps, organization, body }) => ({
    changes: await run(declarative.planConfiguration, deps, organization.slug, body),
  }),
});

export const listPlannedGaps = plain(['org'], {
  id: 'listPlannedGaps',
  summary: 'List gaps of planned schedules',
  description:
    'Times at which no one would be on call if the document was applied, in the projects that it names, within ' +
    `${gapLimits.days} days. Changes nothing.`,
  tag: 'Configuration',
  status: 200,
  body: ConfigurationRequest,
  bodyLimit,
  answer: PlannedGaps,
  handle: ({ deps, organization, body }) => run(findPlannedGaps, deps, organization.slug, body),
});

export const applyConfiguration = plain(['org'], {
  id: 'applyConfiguration',
  summary: 'Apply configuration',
  description: 'Changes the organization to match the document, in one transaction. Applying it again changes nothing.',
  tag: 'Configuration',
  status: 200,
  problems: [409],
  body: ConfigurationRequest,
  bodyLimit,
  answer: ConfigurationChanges,
  handle: async ({ deps, organization, body }) => ({
    changes: await run(declarative.applyConfiguration, deps, organization.slug, body),
  }),
});
