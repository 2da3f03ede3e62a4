/** Reads Grafana OnCall's API, page by page. */
import { AppError } from '../../core/errors.ts';
import { convertGrafanaOnCall } from '../../core/import/grafana-oncall/convert.ts';
import { OnCallExport, pickFields, type ResourceName, resources } from '../../core/import/grafana-oncall/resources.ts';
import { isObject } from '../../core/json.ts';
import { parse } from '../../core/schema.ts';
import { type ApiClient, openApi } from './client.ts';
import type { ImportedSystem } from './system.ts';

const maxPages = 1_000;

export const grafanaOnCall: ImportedSystem = {
  headers: token => ({ authorization: token }),
  tokenHint: 'create one in Grafana OnCall under Settings, API tokens',
  async download(options, { from, until }) {
    const api = openApi(options);
    const data: Record<string, Record<string, unknown>[]> = {};
    for (const name of Object.keys(resources) as ResourceName[]) {
      const items = await readPages(api, name);
      data[name] = items.map(item => pickFields(name, item));
    }
    const final: object[] = [];
    for (const { id, type } of data.schedules!) {
      if (type === 'ical') continue;
      const query = { start_date: minute(from), end_date: minute(until) };
      const answer = await api.get(`api/v1/schedules/${encodeURIComponent(String(id))}/final_shifts/`, query);
      const shifts = resultsOf(answer, 'final_shifts').map(({ user_pk, shift_start, shift_end }) => ({
        user_pk,
        shift_start,
        shift_end,
      }));
      final.push({ schedule: id, from: `${minute(from)}Z`, until: `${minute(until)}Z`, shifts });
    }
    const fetched_at = `${minute(from)}:00Z`;
    return { source: 'grafana-oncall', version: 1, fetched_at, ...data, final_shifts: final };
  },
  parse(content) {
    const data = parse(OnCallExport, content);
    return { fetchedAt: data.fetched_at, convert: options => convertGrafanaOnCall(data, options) };
  },
};

/** Pages are counted instead of following their links: a link to another host would get the token. */
async function readPages(api: ApiClient, name: ResourceName): Promise<Record<string, unknown>[]> {
  const items: Record<string, unknown>[] = [];
  for (let page = 1; page <= maxPages; page++) {
    const answer = await api.get(`api/v1/${name}/`, { page: String(page) });
    items.push(...resultsOf(answer, name));
    if (!isObject(answer) || !answer.next) return items;
  }
  throw new AppError('import.failed', `${name} has more than ${maxPages} pages`);
}

function resultsOf(answer: unknown, name: string): Record<string, unknown>[] {
  if (isObject(answer) && Array.isArray(answer.results)) return answer.results.filter(isObject);
  throw new AppError('import.failed', `the answer for ${name} has no results: check --url`);
}

/** In the form that `final_shifts` accepts. */
function minute(time: Date): string {
  return time.toISOString().slice(0, 16);
}
