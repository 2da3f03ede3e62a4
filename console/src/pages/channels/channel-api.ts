/** Channels of the organization and of its projects: the same, at two addresses. */
import { useQuery } from '@tanstack/react-query';
import { api, take, takeTagged } from '../../api.ts';
import type { ChannelChanges, NewChannel, TestResult } from '../../api-types.ts';
import { useOrg } from '../../places.ts';

export interface ChannelPlace {
  org: string;
  /** Without one, the organization's own. */
  prj?: string;
}

const one = '/api/o/{org}/c/{channel}/';
const ofProject = '/api/o/{org}/p/{prj}/c/{channel}/';

/** Without a channel, of all of them, whichever place they belong to. */
export function channelKey({ org, prj }: ChannelPlace, channel?: string) {
  return [org, 'channels', ...(channel === undefined ? [] : [prj ?? '', channel])];
}

/** Those of the organization and of all projects, in one request. */
export function useChannels(org: string) {
  return useQuery({
    queryKey: channelKey({ org }),
    queryFn: ({ signal }) => take(api.GET('/api/o/{org}/channel/', { params: { path: { org } }, signal })),
    staleTime: 10_000,
  });
}

export function useChannel({ org, prj }: ChannelPlace, channel: string) {
  return useQuery({
    queryKey: channelKey({ org, prj }, channel),
    queryFn: ({ signal }) =>
      prj
        ? takeTagged(api.GET(ofProject, { params: { path: { org, prj, channel } }, signal }))
        : takeTagged(api.GET(one, { params: { path: { org, channel } }, signal })),
    staleTime: 10_000,
  });
}

export function createChannel({ org, prj }: ChannelPlace, body: NewChannel) {
  return prj
    ? take(api.POST('/api/o/{org}/p/{prj}/c/', { params: { path: { org, prj } }, body }))
    : take(api.POST('/api/o/{org}/c/', { params: { path: { org } }, body }));
}

export function changeChannel({ org, prj }: ChannelPlace, channel: string, body: ChannelChanges, etag?: string | null) {
  const headers = etag ? { 'if-match': etag } : {};
  return prj
    ? takeTagged(api.PATCH(ofProject, { params: { path: { org, prj, channel } }, body, headers }))
    : takeTagged(api.PATCH(one, { params: { path: { org, channel } }, body, headers }));
}

export function deleteChannel({ org, prj }: ChannelPlace, channel: string, dryRun: boolean) {
  const query = dryRun ? { dry_run: true } : {};
  return prj
    ? take(api.DELETE(ofProject, { params: { path: { org, prj, channel }, query } }))
    : take(api.DELETE(one, { params: { path: { org, channel }, query } }));
}

export async function holdChannel({ org, prj }: ChannelPlace, channel: string, paused: boolean): Promise<void> {
  const action = paused ? 'pause' : 'resume';
  if (prj) await api.POST(`/api/o/{org}/p/{prj}/c/{channel}/${action}/`, { params: { path: { org, prj, channel } } });
  else await api.POST(`/api/o/{org}/c/{channel}/${action}/`, { params: { path: { org, channel } } });
}

export interface TestRequest {
  to?: string;
  subject?: string;
  body?: string;
  provider?: number;
}

export function testChannel({ org, prj }: ChannelPlace, channel: string, body: TestRequest): Promise<TestResult> {
  return prj
    ? take(api.POST('/api/o/{org}/p/{prj}/c/{channel}/test/', { params: { path: { org, prj, channel } }, body }))
    : take(api.POST('/api/o/{org}/c/{channel}/test/', { params: { path: { org, channel } }, body }));
}

/** What can stand behind a channel; the same for everybody until the service is updated. */
export function useProviderKinds() {
  const org = useOrg();
  return useQuery({
    queryKey: [org, 'providers'],
    queryFn: ({ signal }) => take(api.GET('/api/o/{org}/provider/', { params: { path: { org } }, signal })),
    staleTime: Number.POSITIVE_INFINITY,
  });
}
