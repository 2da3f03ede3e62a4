import { type Static, Type } from 'typebox';
import { OrganizationDocument } from '../core/configuration/document.ts';
import { AppError, invalid } from '../core/errors.ts';
import { recordRead } from '../services/audit.ts';
import * as declarative from '../services/declarative.ts';
import type { Deps } from '../services/deps.ts';
import { plain } from './route.ts';

const bodyLimit = 10 * 1024 * 1024;

const ConfigurationRequest = Type.Object(
  {
    // By its name, so that the API's description shows it once.
    organization: Type.Unsafe<OrganizationDocument>({ $ref: 'OrganizationDocument#' }),
    prune: Type.Optional(Type.Boolean({ default: false, description: 'Also delete what a section does not hold.' })),
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
            from: Type.Unknown({ description: 'Null: nothing. A secret is shown as (secret).' }),
            to: Type.Unknown(),
          }),
          { description: 'Of an update: what differs.' },
        ),
      }),
      { description: 'In the order in which they are made.' },
    ),
  },
  { $id: 'ConfigurationChanges' },
);

type Work = typeof declarative.applyConfiguration;

/** The document has one organization here: its fields are named as the body has them. */
async function run(work: Work, deps: Deps, slug: string, body: Static<typeof ConfigurationRequest>) {
  const { organization, prune = false } = body;
  if (organization.slug !== slug) {
    throw invalid({ 'organization/slug': [`is not ${slug}, the organization that the path names`] });
  }
  try {
    return { changes: await work(deps, { organizations: [organization] }, { prune }) };
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
  description: 'Everything that is configured, as one document. Secrets are left out.',
  tag: 'Configuration',
  status: 200,
  answer: OrganizationDocument,
  handle: async ({ deps, organization }) => {
    const { organizations } = await declarative.exportConfiguration(deps, [organization.slug]);
    await recordRead(deps, organization.id, { action: 'export', noun: 'organization', path: organization.slug });
    return organizations[0]!;
  },
});

export const planConfiguration = plain(['org'], {
  id: 'planConfiguration',
  summary: 'Plan configuration',
  description: 'What applying the document would change; nothing is changed.',
  tag: 'Configuration',
  status: 200,
  body: ConfigurationRequest,
  bodyLimit,
  answer: ConfigurationChanges,
  handle: ({ deps, organization, body }) => run(declarative.planConfiguration, deps, organization.slug, body),
});

export const applyConfiguration = plain(['org'], {
  id: 'applyConfiguration',
  summary: 'Apply configuration',
  description: 'Makes the organization what the document says, wholly or not at all. Repeating it changes nothing.',
  tag: 'Configuration',
  status: 200,
  problems: [409],
  body: ConfigurationRequest,
  bodyLimit,
  answer: ConfigurationChanges,
  handle: ({ deps, organization, body }) => run(declarative.applyConfiguration, deps, organization.slug, body),
});
