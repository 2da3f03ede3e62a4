import type { TestResult } from './api-types.ts';

/**
 * Whether the detail of a test send is what the provider answered, with its status first. Others are Belfry's own: an address on the
 * suppression list, a template that cannot be rendered, a server that cannot be reached.
 */
export function isProviderAnswer({ reason, detail }: Pick<TestResult, 'reason' | 'detail'>): boolean {
  return reason === 'provider.failed' && /^\d{3}\b|\(\d{3}\b/.test(detail ?? '');
}
