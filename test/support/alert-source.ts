/** A source of Alertmanager's alerts, and what is posted to it. */
import { expect } from 'vitest';
import { ask } from './api.ts';
import type { EngineWorld, Tenant, TenantInput } from './sink.ts';

type Fields = Record<string, unknown>;

export const base = { slug: 'prom', name: 'Prometheus', use: 'alertmanager', routes: [{ event: 'go' }] };

/** Notifies Ann, and again after an hour. */
const steps = [{ channels: ['hooks'] }, { after: '1h', unless: 'acknowledged', channels: ['hooks'] }];

/** Creates a tenant with a source. Returns it with functions to post to the source and to read what became of it. */
export async function openSource(world: EngineWorld, fields: Fields = {}, input: TenantInput = {}) {
  const tenant = await world.tenant({ users: ['ann@acme.test'], notifications: [{ steps }], ...input });
  const sources = `${tenant.application}sources/`;
  const made = await tenant.ask({ method: 'POST', path: sources, body: { ...base, ...fields } });
  expect(made.status, made.text).toBe(201);
  const { token, slug, url } = made.body;
  const path = new URL(url).pathname;
  const post = (body: unknown, headers: Record<string, string> = {}, at = path) =>
    ask(world.service.address, { method: 'POST', path: at, body, headers });
  const payload = async (id: string) => (await tenant.ask({ path: `${sources}${slug}/payloads/${id}/` })).body;
  return { tenant, token, path, post, payload, source: `${sources}${slug}/` };
}

export const alert = (fingerprint: string, status = 'firing', labels: Fields = {}) => ({
  status,
  labels: { alertname: 'Disk', severity: 'warning', ...labels },
  annotations: { summary: 'Full' },
  startsAt: '2026-11-18T10:00:00Z',
  endsAt: '0001-01-01T00:00:00Z',
  fingerprint,
});

export const group = (...alerts: unknown[]) => ({
  ...{ version: '4', groupKey: 'g', truncatedAlerts: 0, status: 'firing' },
  alerts,
});

export async function occurrencesOf(tenant: Tenant) {
  return tenant.sql<{ id: string; triggers: number; dedup_key: string; resolved: boolean; acknowledged: boolean }>(
    `select id, triggers, dedup_key, resolved_at is not null as resolved, acknowledged_at is not null as acknowledged
     from occurrences where organization_id = ${tenant.id} order by dedup_key, id`,
  );
}
