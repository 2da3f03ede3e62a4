import { describe, expect, test } from 'vitest';
import { diff, toChange } from '../../src/core/configuration/diff.ts';
import type { OrganizationDocument } from '../../src/core/configuration/document.ts';
import { keepSecrets } from '../../src/core/configuration/secrets.ts';
import { type OrganizationState, type ProviderState, toState } from '../../src/core/configuration/state.ts';
import { providers } from '../../src/providers/index.ts';
import { readEntry } from '../../src/providers/provider.ts';
import { exampleOrganization, hooksOf, webhookSecret } from '../support/declarative.ts';

function stateOf(document: OrganizationDocument): OrganizationState {
  return toState(document, entry => readEntry(providers, entry));
}

describe('the difference', () => {
  test('between a document and itself is empty', async () => {
    const state = stateOf(await exampleOrganization());
    expect(diff(state, stateOf(await exampleOrganization()), { prune: true })).toEqual([]);
  });

  test('lists changed fields with their old and new values', async () => {
    const after = await exampleOrganization();
    after.channels![0]!.providers![0]!.port = 25;
    after.users![0]!.custom_fields = { tier: 'silver', since: 2020 };
    after.projects![0]!.applications![0]!.events![0]!.notifications![0]!.message.subject = 'Paid';
    const changes = diff(stateOf(await exampleOrganization()), stateOf(after), { prune: false }).map(toChange);
    expect(changes).toEqual([
      {
        action: 'update',
        noun: 'channel',
        path: 'acme/mail',
        fields: [{ field: 'providers.0.port', from: 2525, to: 25 }],
      },
      {
        action: 'update',
        noun: 'user',
        path: 'acme/jane@acme.test',
        fields: [
          { field: 'custom_fields.tier', from: 'gold', to: 'silver' },
          { field: 'custom_fields.since', from: null, to: 2020 },
        ],
      },
      {
        action: 'update',
        noun: 'notification',
        path: 'acme/shop/web/order-paid/receipt',
        fields: [{ field: 'message.subject', from: 'Order {{ order }} is paid', to: 'Paid' }],
      },
    ]);
  });

  test('of a secret shows that it differs, never its value', async () => {
    const after = await exampleOrganization();
    hooksOf(after).providers![0]!.secret = `whsec_${'A'.repeat(32)}`;
    const steps = diff(stateOf(await exampleOrganization()), stateOf(after), { prune: false });
    expect(steps.map(toChange)).toEqual([
      {
        action: 'update',
        noun: 'channel',
        path: 'acme/hooks',
        fields: [{ field: 'providers.0.secret', from: '(secret)', to: '(secret)' }],
      },
    ]);
  });

  test('deletes only with prune, children first, and never in a section that is absent', async () => {
    const before = stateOf(await exampleOrganization());
    const { users: _, ...after } = await exampleOrganization();
    after.channels = [];
    after.projects![0]!.distribution_lists = [];
    after.projects![0]!.applications![0]!.events = [];
    const paths = (prune: boolean) =>
      diff(before, stateOf(after), { prune }).map(step => `${step.action} ${step.path}`);
    expect(paths(false)).toEqual([]);
    expect(paths(true)).toEqual([
      'delete acme/shop/web/order-paid',
      'delete acme/shop/Customers',
      'delete acme/hooks',
      'delete acme/mail',
    ]);
  });

  test('includes a null that was removed from free-form data', async () => {
    const before = await exampleOrganization();
    const after = await exampleOrganization();
    before.users![0]!.custom_fields = { gone: null };
    after.users![0]!.custom_fields = {};
    expect(diff(stateOf(before), stateOf(after), { prune: false })).toHaveLength(1);
  });
});

describe('a secret that a file omits', () => {
  const server = (host: string, secrets = {}, from = 'x') => ({ use: 'smtp', settings: { host, from }, secrets });
  const [a, b] = [server('a', { password: 'of a' }), server('b', { password: 'of b' })];
  const keep = (entries: ProviderState[], stored: ProviderState[]) => keepSecrets(entries, stored, () => ['host']);
  const secretsOf = (...args: Parameters<typeof keep>) => {
    const { providers, ambiguous, moved } = keep(...args);
    expect([ambiguous, moved]).toEqual([[], []]);
    return providers.map(({ secrets }) => secrets.password);
  };
  const unclearOf = (...args: Parameters<typeof keep>) =>
    keep(...args).ambiguous.map(({ index, field }) => `${index} ${field}`);
  const movedOf = (...args: Parameters<typeof keep>) =>
    keep(...args).moved.map(({ index, field, changed }) => `${index} ${field} ${changed}`);

  test('stays with its server when the order changes', () => {
    expect(keep([server('b'), server('a')], [a, b])).toEqual({ providers: [b, a], ambiguous: [], moved: [] });
  });

  test('stays when other settings change, and is replaced by a new one', () => {
    expect(secretsOf([server('a', {}, 'y')], [a])).toEqual(['of a']);
    expect(secretsOf([server('a', { password: 'new' }, 'y')], [a])).toEqual(['new']);
    expect(secretsOf([server('c', { password: 'new' })], [a])).toEqual(['new']);
  });

  test('is never taken from another provider', () => {
    const stored = [{ use: 'standard-webhooks', settings: {}, secrets: { secret: webhookSecret } }];
    expect(secretsOf([server('a')], stored)).toEqual([undefined]);
  });

  test('stays with its server when order and other settings change', () => {
    expect(secretsOf([server('b'), server('a', {}, 'y')], [a, b])).toEqual(['of b', 'of a']);
    expect(secretsOf([server('b', {}, 'y'), server('a', {}, 'z')], [a, b])).toEqual(['of b', 'of a']);
    expect(secretsOf([server('b'), server('new', { password: 'its own' }), server('a', {}, 'y')], [a, b])).toEqual([
      'of b',
      'its own',
      'of a',
    ]);
    expect(secretsOf([server('a', {}, 'y'), server('relay')], [a])).toEqual(['of a', undefined]);
  });

  test('is required again when its destination changes, and is never sent there', () => {
    expect(movedOf([server('c')], [a])).toEqual(['0 password host']);
    expect(movedOf([server('b'), server('c')], [a, b])).toEqual(['1 password host']);
    expect(movedOf([server('c'), server('d')], [a, b])).toEqual(['0 password host', '1 password host']);
    expect(movedOf([server('c', { password: 'given' }), server('d')], [a, b])).toEqual(['1 password host']);
    expect(movedOf([server('c')], [server('a')])).toEqual([]);
    for (const { secrets } of keep([server('c'), server('d')], [a, b]).providers) expect(secrets).toEqual({});
    const shared = [server('a', { password: 'one' }), server('b', { password: 'one' })];
    expect(movedOf([server('c'), server('d')], shared)).toEqual(['0 password host', '1 password host']);
  });

  test('is required again when it is ambiguous which server it belongs to', () => {
    const [one, two] = [server('a', { password: 'one' }, 'y'), server('a', { password: 'two' }, 'z')];
    expect(unclearOf([server('a', {}, 'v'), server('a', {}, 'w')], [one, two])).toEqual(['0 password', '1 password']);
    expect(unclearOf([server('a')], [one, two])).toEqual(['0 password']);
    expect(unclearOf([server('a', {}, 'v'), server('a', {}, 'w')], [one])).toEqual(['0 password', '1 password']);
    expect(unclearOf([server('a', { password: 'given' }, 'v'), server('a')], [one, two])).toEqual(['1 password']);
  });

  test('is not required when all candidates are equal or all secrets are provided', () => {
    const shared = [server('a', { password: 'one' }, 'y'), server('a', { password: 'one' }, 'z')];
    expect(secretsOf([server('a', {}, 'v'), server('a', {}, 'w')], shared)).toEqual(['one', 'one']);
    expect(secretsOf([server('a', {}, 'v')], shared)).toEqual(['one']);
    expect(unclearOf([server('a', {}, 'u'), server('a', {}, 'v'), server('a', {}, 'w')], shared)).toHaveLength(3);
    expect(secretsOf([server('c', { password: 'x' }), server('d', { password: 'y' })], [a, b])).toEqual(['x', 'y']);
  });

  test('of two servers with the same settings stays in order, and is required when one is removed', () => {
    const twins = [server('a', { password: 'first' }), server('a', { password: 'second' })];
    expect(secretsOf([server('a'), server('a')], twins)).toEqual(['first', 'second']);
    expect(unclearOf([server('a')], twins)).toEqual(['0 password']);
    expect(unclearOf([server('a'), server('a', {}, 'y')], twins)).toEqual(['0 password', '1 password']);
  });

  test('is removed by null', () => {
    expect(keep([server('c', { password: null })], [a])).toEqual({
      providers: [server('c')],
      ambiguous: [],
      moved: [],
    });
    expect(secretsOf([server('c', { password: null }), server('d', { password: 'new' })], [a, b])).toEqual([
      undefined,
      'new',
    ]);
  });
});
