/** Layout of the pages for visitors who are not signed in. */
import { Alert, Box, Center, Stack, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { ApiError, explain } from '../api.ts';
import { texts } from '../texts/account.ts';

export function AuthLayout({ title, lead, children }: { title: string; lead?: ReactNode; children: ReactNode }) {
  return (
    <Center component="main" mih="100vh" p="md">
      <title>{texts.documentTitle(title)}</title>
      <Stack w="100%" maw={360} gap="lg">
        <Stack gap={6} align="center" ta="center">
          <img src="/belfry.svg" alt="" width={40} height={40} />
          <Title order={1} mt="xs">
            {title}
          </Title>
          {lead && (
            <Text component="div" c="dimmed" size="sm">
              {lead}
            </Text>
          )}
        </Stack>
        <Box className="card" p="lg">
          {children}
        </Box>
      </Stack>
    </Center>
  );
}

/** An error that belongs to no single field. */
export function FormError({ error }: { error: unknown }) {
  if (!error) return null;
  const requestId = error instanceof ApiError && error.status >= 500 ? error.requestId : undefined;
  return (
    <Alert color="red" variant="light" role="alert" p="xs">
      <Text size="sm" c="var(--mantine-color-text)">
        {requestId ? texts.errorOfRequest(explain(error), requestId) : explain(error)}
      </Text>
    </Alert>
  );
}
