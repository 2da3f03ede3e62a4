/** Requirements for every provider, so that none can be added without them. */

import { describe, expect, it } from 'vitest';
import type { ProviderEntry } from '../../src/core/configuration/nouns/channel.ts';
import { media } from '../../src/core/configuration/nouns/schemas.ts';
import { shapeErrors } from '../../src/core/configuration/shape.ts';
import type { Outbound } from '../../src/lib/network/outbound.ts';
import { providers } from '../../src/providers/index.ts';
import { checkEntry, findMissing, type Provider, readEntry } from '../../src/providers/provider.ts';
import { type ComplianceCase, complianceSuite, exampleOutgoing, sendToHangingServer } from '../support/compliance.ts';
import { chatCases } from '../support/compliance-chat.ts';
import { emailCases } from '../support/compliance-email.ts';
import { pushCases } from '../support/compliance-push.ts';
import { serviceCases } from '../support/compliance-services.ts';
import { smsCases } from '../support/compliance-sms.ts';

const cases = { ...emailCases, ...chatCases, ...smsCases, ...serviceCases, ...pushCases } as unknown as Record<
  string,
  ComplianceCase
>;

/** Providers that do not use HTTP, with complete settings. */
const others: Record<string, Record<string, unknown>> = {
  smtp: { host: '127.0.0.1', user: 'acme', password: 'hush', from: 'Acme <no-reply@acme.test>' },
  inbox: {},
  sandbox: {},
};

const settingsOf = (name: string) => (others[name] ?? cases[name]?.settings('http://127.0.0.1:9')) as ProviderEntry;
const all = Object.entries(providers);
const fieldsOf = (provider: Provider) =>
  Object.entries(provider.settings.properties as unknown as Record<string, Field>).map(([field, schema]) => ({
    field,
    ...schema,
  }));
interface Field {
  description?: string;
  secret?: boolean;
  destination?: boolean;
  patternHint?: string;
  pattern?: string;
}

for (const [name, suite] of Object.entries(cases)) complianceSuite(name, suite);

it('every provider reports an unknown outcome if the response does not arrive in time', async () => {
  for (const [name, outcome] of Object.entries(await sendToHangingServer(cases))) {
    expect(outcome, name).toMatchObject({ ok: false, retry: true, unknown: true });
  }
});

describe('the list of providers', () => {
  it('covers every provider with the compliance suite or a reason not to', () => {
    expect([...Object.keys(cases), ...Object.keys(others)].sort()).toEqual(Object.keys(providers).sort());
    for (const [name, suite] of Object.entries(cases)) expect(suite.provider).toBe(providers[name]);
  });

  it.each(all)('lists %s by its name with a valid medium', (name, provider) => {
    expect(provider.name).toBe(name);
    expect([...media, 'any']).toContain(provider.medium);
    expect(provider.title).toMatch(/^(ntfy$|[A-Z])/);
    expect(provider.summary).toMatch(/^[A-Z].*\.$/);
  });

  it('every provider can change messages exactly as it says', () => {
    const outbound = {} as Outbound;
    // The engine changes messages of the inbox itself.
    for (const [name, { updates = [], open }] of all.filter(([name]) => name !== 'inbox')) {
      const sender = open(settingsOf(name), { outbound });
      const actions = (['update', 'retract'] as const).filter(action => sender[action] !== undefined);
      expect(actions, name).toEqual(updates);
    }
  });

  it.each(['inbox', 'sandbox'])('%s succeeds without a connection', async name => {
    const nobody = new Proxy({} as Outbound, {
      get: (_, use) => {
        throw new Error(`${name} used ${String(use)}`);
      },
    });
    const sender = providers[name]!.open({}, { outbound: nobody });
    expect(await sender.send(exampleOutgoing())).toEqual({ ok: true, id: exampleOutgoing().id });
    expect(providers[name]!.dedupes).toBe(true);
    await sender.close();
  });
});

describe('where messages go', () => {
  const reachOf = (name: string, changes = {}) => providers[name]!.reach?.({ ...settingsOf(name), ...changes });

  it('is one room for all recipients if the settings define it', () => {
    const rooms = Object.keys(providers).filter(name => reachOf(name) === 'room');
    const fixed = [
      'apprise',
      'discord-bot',
      'discord-webhook',
      'google-chat',
      'gotify',
      'opsgenie',
      'pagerduty',
      'slack-webhook',
    ];
    expect(rooms.sort()).toEqual([...fixed, 'teams-workflow']);
    const chosen = {
      channel_id: 'x',
      conversation_id: '19:x',
      channel: 'x',
      room_id: 'x',
      to: 'x',
      topic: 'x',
      user_key: 'x',
    };
    expect(reachOf('discord-bot', { channel_id: undefined })).toBe('address');
    for (const name of [
      'teams',
      'mattermost',
      'rocketchat',
      'matrix',
      'zulip',
      'webex',
      'signal',
      'ntfy',
      'pushover',
    ]) {
      expect([name, reachOf(name), reachOf(name, chosen)]).toEqual([name, 'address', 'room']);
    }
  });

  it('is each recipient for the inbox, the sandbox, and a webhook URL in the settings', () => {
    const reached = Object.keys(providers).filter(name => reachOf(name) === 'recipient');
    expect(reached.sort()).toEqual(['inbox', 'sandbox', 'standard-webhooks']);
  });

  it('is an address of each recipient for all others, and for webhooks without a URL', () => {
    expect(reachOf('standard-webhooks', { url: undefined })).toBe('address');
    for (const name of ['smtp', 'twilio', 'slack', 'telegram-bot', 'vapid']) {
      expect(reachOf(name) ?? 'address').toBe('address');
    }
  });
});

/** Settings that are named like secrets but are not. */
const open = new Set([
  'twilio.api_key_sid',
  'vonage.api_key',
  'vapid.public_key',
  'discord-bot.public_key',
  'ses.access_key_id',
  'smtp.oauth2_token_url',
  'sns.access_key_id',
  'apns.key_id',
  'twilio-voice.api_key_sid',
]);

describe('settings', () => {
  it.each(all)('of %s can be shown as a form', (_, provider) => {
    for (const { field, description, pattern, patternHint } of fieldsOf(provider)) {
      expect(description ?? '', `${provider.name}.${field} has no description`).toMatch(/\S{2}/);
      if (pattern) expect(patternHint, `${provider.name}.${field} has no hint`).toBeTruthy();
    }
    expect(provider.settings).toMatchObject({ additionalProperties: false });
  });

  it.each(all)('of %s mark secrets', (_, provider) => {
    const looksSecret = /secret|token|password|key/;
    const forgotten = fieldsOf(provider)
      .filter(({ field, secret }) => looksSecret.test(field) && !secret && !open.has(`${provider.name}.${field}`))
      .map(({ field }) => `mark ${provider.name}.${field} as secret, or list it as open`);
    expect(forgotten).toEqual([]);
  });

  it('are marked if they decide where secrets are sent', () => {
    const unmarked = Object.values(providers).flatMap(provider =>
      fieldsOf(provider)
        .filter(({ field, secret, destination }) => /host|port$|url|endpoint/.test(field) && !secret && !destination)
        .map(({ field }) => `mark ${provider.name}.${field} as destination`),
    );
    expect(unmarked).toEqual([]);
  });

  it.each(all)('of %s are read completely from a file entry, with secrets separated', (name, provider) => {
    const medium = provider.medium === 'any' ? 'email' : provider.medium;
    const entry = { ...settingsOf(name), use: name };
    expect(checkEntry(providers, entry, medium)).toEqual([]);
    const { use, settings, secrets } = readEntry(providers, entry);
    expect({ use, ...settings, ...secrets }).toEqual(entry);
    const marked = fieldsOf(provider).filter(({ secret }) => secret);
    expect(Object.keys(secrets).every(field => marked.some(({ field: own }) => own === field))).toBe(true);
    expect(Object.keys(settings).some(field => marked.some(({ field: own }) => own === field))).toBe(false);
    expect(shapeErrors(provider.settings, { ...settings, ...secrets })).toEqual([]);
  });

  it.each(all)('of %s may leave out stored secrets, but not missing ones', (name, provider) => {
    const { settings, secrets } = readEntry(providers, { ...settingsOf(name), use: name });
    const medium = provider.medium === 'any' ? 'email' : provider.medium;
    expect(checkEntry(providers, { ...settings, use: name }, medium)).toEqual([]);
    expect(findMissing(providers, { use: name, settings, secrets })).toEqual([]);
    const required = (provider.settings.required ?? []).filter(field => Object.hasOwn(secrets, field));
    const missing = findMissing(providers, { use: name, settings, secrets: {} }).map(({ field }) => field);
    for (const field of required) expect(missing).toContain(field);
  });

  it.each(all)('of %s refuse an unknown field', (name, provider) => {
    const entry = { ...settingsOf(name), use: name };
    const medium = provider.medium === 'any' ? 'email' : provider.medium;
    expect(checkEntry(providers, { ...entry, colour: 'red' }, medium)).toMatchObject([{ field: 'colour' }]);
  });

  it.each(all.filter(([, { medium }]) => medium !== 'any'))(
    'of %s refuse a channel of another type',
    (name, provider) => {
      const entry = { ...settingsOf(name), use: name };
      const other = provider.medium === 'email' ? 'sms' : 'email';
      expect(checkEntry(providers, entry, other)).toMatchObject([{ field: 'use' }]);
    },
  );

  it('refuse URLs with a password, which would be shown', () => {
    for (const [name, provider] of all) {
      for (const { field } of fieldsOf(provider).filter(({ field }) => /^(url|endpoint)$/.test(field))) {
        const entry = { ...settingsOf(name), use: name, [field]: 'https://me:hush@acme.test/x/y' };
        expect(checkEntry(providers, entry, ''), `${name}.${field}`).toMatchObject([{ field }]);
      }
    }
  });
});
