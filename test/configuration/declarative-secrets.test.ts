import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { OrganizationDocument } from '../../src/core/configuration/document.ts';
import { createCipher } from '../../src/lib/secrets/cipher.ts';
import { Plans } from '../../src/pipeline/plans.ts';
import {
  applyConfiguration,
  exportConfiguration,
  planConfiguration,
} from '../../src/services/configuration/declarative/declarative.ts';
import { testDatabase } from '../support/database.ts';
import { everything, exampleOrganization, hooksOf, webhookSecret } from '../support/declarative.ts';
import { runSql } from '../support/sql.ts';

let runtime: Awaited<ReturnType<typeof testDatabase>>;
beforeAll(async () => {
  runtime = await testDatabase();
});
afterAll(() => runtime.close());

const apply = (organization: OrganizationDocument) =>
  applyConfiguration(runtime.deps, { organizations: [organization] }, { prune: false });
const plan = (organization: OrganizationDocument) =>
  planConfiguration(runtime.deps, { organizations: [organization] }, { prune: false });
const exported = async (slug: string) => (await exportConfiguration(runtime.deps, [slug])).organizations[0]!;
const rows = <Row extends object>(text: string, values: unknown[] = []) => runSql<Row>(runtime.url, text, values);

describe('secrets', () => {
  const stored = (slug: string) =>
    rows<{ providers: unknown; secrets: Buffer | null }>(
      `select c.providers, c.secrets from channels c join organizations o on o.id = c.organization_id
       where o.slug = $1 and c.slug = 'hooks'`,
      [slug],
    );

  test('are stored encrypted and never shown', async () => {
    const changes = await apply(await exampleOrganization('sealed'));
    await apply(everything('password'));
    const [row] = await stored('sealed');
    expect(JSON.stringify(row!.providers)).not.toContain('whsec');
    expect(row!.secrets!.toString('latin1')).not.toContain('whsec');
    expect(row!.secrets!.toString('latin1')).not.toContain(webhookSecret.slice(6));
    const everywhere = await rows<{ text: string }>('select c::text as text from channels c');
    expect(everywhere.map(({ text }) => text).join()).not.toContain('hunter2');
    expect(JSON.stringify([changes, await exported('sealed')])).not.toContain('whsec');
  });

  test('are not exported, even if they were stored before they were marked as secret', async () => {
    await apply(await exampleOrganization('marked'));
    await rows(`update channels set providers = jsonb_set(providers, '{0,secret}', '"whsec_plain"')
      where slug = 'hooks' and organization_id = (select id from organizations where slug = 'marked')`);
    expect(JSON.stringify(await exported('marked'))).not.toContain('whsec');
  });

  test('are kept if the file omits them, and are no change if they are equal', async () => {
    const organization = await exampleOrganization('kept');
    await apply(organization);
    const [before] = await stored('kept');
    expect(await apply(organization)).toEqual([]);
    delete hooksOf(organization).providers![0]!.secret;
    hooksOf(organization).providers![0]!.timeout_ms = 5_000;
    expect((await apply(organization)).map(change => change.fields.map(({ field }) => field))).toEqual([
      ['providers.0.timeout_ms'],
    ]);
    hooksOf(organization).providers![0]!.secret = webhookSecret;
    expect(await apply(organization)).toEqual([]);
    const [after] = await stored('kept');
    expect(before!.secrets).not.toBeNull();
    expect(after!.secrets).not.toEqual(before!.secrets);
  });

  test('are required again if their destination changes', async () => {
    const organization = await exampleOrganization('moved');
    await apply(organization);
    delete hooksOf(organization).providers![0]!.secret;
    hooksOf(organization).providers![0]!.url = 'https://elsewhere.test/';
    const refused = {
      code: 'file.invalid',
      details: { fields: { 'organizations/0/channels/1/providers/0/secret': [expect.stringMatching(/^url changed/)] } },
    };
    await expect(plan(organization)).rejects.toMatchObject(refused);
    await expect(apply(organization)).rejects.toMatchObject(refused);
    hooksOf(organization).providers![0]!.secret = webhookSecret;
    expect((await apply(organization)).map(change => change.fields.map(({ field }) => field))).toEqual([
      ['providers.0.url'],
    ]);
  });

  test('can be changed, and the plan shows only that they change', async () => {
    const organization = await exampleOrganization('changed');
    await apply(organization);
    hooksOf(organization).providers![0]!.secret = `whsec_${'B'.repeat(32)}`;
    expect(await apply(organization)).toEqual([
      {
        action: 'update',
        noun: 'channel',
        path: 'changed/hooks',
        fields: [{ field: 'providers.0.secret', from: '(secret)', to: '(secret)' }],
      },
    ]);
    expect(await apply(organization)).toEqual([]);
  });

  test('that a provider requires are reported by name if missing', async () => {
    const organization = await exampleOrganization('missing');
    delete hooksOf(organization).providers![0]!.secret;
    organization.channels![0]!.providers![0]!.user = 'u';
    await expect(apply(organization)).rejects.toMatchObject({
      details: {
        fields: {
          'organizations/0/channels/0/providers/0/password': [expect.stringMatching(/together with user/)],
          'organizations/0/channels/1/providers/0/secret': [expect.stringMatching(/required, and none is stored/)],
        },
      },
    });
  });

  test('that cannot be decrypted block only an apply that manages them', async () => {
    await apply(await exampleOrganization('unreadable'));
    const deps = { ...runtime.deps, cipher: createCipher('another key altogether') };
    const document = { organizations: [await exampleOrganization('unreadable')] };
    await expect(applyConfiguration(deps, document, { prune: false })).rejects.toMatchObject({
      code: 'secret.unreadable',
    });
    delete document.organizations[0]!.channels;
    expect(await applyConfiguration(deps, document, { prune: false })).toEqual([]);
    expect((await exportConfiguration(deps, ['unreadable'])).organizations).toHaveLength(1);
  });

  test('that cannot be decrypted hold only the messages of their channel', async () => {
    await apply(await exampleOrganization('beside'));
    const [organization] = await rows<{ id: string }>(`select id from organizations where slug = 'beside'`);
    const plans = new Plans({
      ...runtime.deps,
      cache: runtime.deps.tenantCache,
      cipher: createCipher('another key altogether'),
    });
    const [mail, hooks] = await plans.listChannels(Number(organization!.id));
    expect(mail!.providers[0]!.settings.host).toBe('127.0.0.1');
    expect(hooks).toMatchObject({ slug: 'hooks', usable: true, reach: 'recipient' });
    expect(() => hooks!.providers).toThrow(/secrets of channel hooks cannot be decrypted/);
  });

  test('cannot be moved to another channel in the database', async () => {
    await apply(await exampleOrganization('mover'));
    await apply(await exampleOrganization('victim'));
    await rows(`update channels set secrets = (
      select c.secrets from channels c join organizations o on o.id = c.organization_id where o.slug = 'victim' and c.slug = 'hooks'
    ) where slug = 'hooks' and organization_id = (select id from organizations where slug = 'mover')`);
    await expect(plan(await exampleOrganization('mover'))).rejects.toMatchObject({ code: 'secret.unreadable' });
  });
});
