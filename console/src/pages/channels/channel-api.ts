/** Requests for channels of the organization and of its projects, which have the same API at two paths. */
import { useQuery } from '@tanstack/react-query';
import { api, take, takeTagged } from '../../api.ts';
import type { ChannelChanges, DomainCheck, NewChannel, TestResult } from '../../api-types.ts';
import { useOrg } from '../../paths.ts';
import { type PathPrefix, read, readTagged } from '../../queries.ts';

export interface ChannelScope {
  org: string;
  /** Undefined for a channel of the organization. */
  prj?: string;
}

const one = '/api/o/{org}/c/{channel}/';
const ofProject = '/api/o/{org}/p/{prj}/c/{channel}/';

/** What a change of a channel refreshes: channels of the organization, of its projects, and the list of all. */
export const channelPaths: PathPrefix[] = ['/api/o/{org}/c/', '/api/o/{org}/p/{prj}/c/', '/api/o/{org}/channel/'];

export function channelQuery({ org, prj }: ChannelScope, channel: string) {
  return prj ? readTagged(ofProject, { path: { org, prj, channel } }) : readTagged(one, { path: { org, channel } });
}

/** Loads the channels of the organization and of all projects in one request. */
export function useChannels(org: string) {
  return useQuery({
    ...read('/api/o/{org}/channel/', { path: { org } }),
    staleTime: 10_000,
  });
}

export function useChannel(scope: ChannelScope, channel: string) {
  return useQuery({ ...channelQuery(scope, channel), staleTime: 10_000 });
}

export function createChannel({ org, prj }: ChannelScope, body: NewChannel) {
  return prj
    ? take(api.POST('/api/o/{org}/p/{prj}/c/', { params: { path: { org, prj } }, body }))
    : take(api.POST('/api/o/{org}/c/', { params: { path: { org } }, body }));
}

export function changeChannel({ org, prj }: ChannelScope, channel: string, body: ChannelChanges, headers = {}) {
  return prj
    ? takeTagged(api.PATCH(ofProject, { params: { path: { org, prj, channel } }, body, headers }))
    : takeTagged(api.PATCH(one, { params: { path: { org, channel } }, body, headers }));
}

export function deleteChannel({ org, prj }: ChannelScope, channel: string, dryRun: boolean) {
  const query = dryRun ? { dry_run: true } : {};
  return prj
    ? take(api.DELETE(ofProject, { params: { path: { org, prj, channel }, query } }))
    : take(api.DELETE(one, { params: { path: { org, channel }, query } }));
}

export function pauseChannel({ org, prj }: ChannelScope, channel: string, body: { reason?: string }) {
  return prj
    ? take(api.POST('/api/o/{org}/p/{prj}/c/{channel}/pause/', { params: { path: { org, prj, channel } }, body }))
    : take(api.POST('/api/o/{org}/c/{channel}/pause/', { params: { path: { org, channel } }, body }));
}

export interface TestRequest {
  to?: string;
  subject?: string;
  body?: string;
  provider?: number;
}

export function testChannel({ org, prj }: ChannelScope, channel: string, body: TestRequest): Promise<TestResult> {
  return prj
    ? take(api.POST('/api/o/{org}/p/{prj}/c/{channel}/test/', { params: { path: { org, prj, channel } }, body }))
    : take(api.POST('/api/o/{org}/c/{channel}/test/', { params: { path: { org, channel } }, body }));
}

/** Looks up DNS records, which takes seconds. */
export function checkDomains({ org, prj }: ChannelScope, channel: string): Promise<DomainCheck[]> {
  return prj
    ? take(api.GET('/api/o/{org}/p/{prj}/c/{channel}/domain/', { params: { path: { org, prj, channel } } }))
    : take(api.GET('/api/o/{org}/c/{channel}/domain/', { params: { path: { org, channel } } }));
}

/** Loads the available providers, which only change with an update of the service. */
export function useProviderKinds() {
  const org = useOrg();
  return useQuery({
    ...read('/api/o/{org}/provider/', { path: { org } }),
    staleTime: Number.POSITIVE_INFINITY,
  });
}
