import './nonce.ts';
import '@mantine/core/styles.css';
import '@mantine/notifications/styles.css';
import './styles.css';
import './screens.css';
import { MantineProvider } from '@mantine/core';
import { ModalsProvider } from '@mantine/modals';
import { Notifications } from '@mantine/notifications';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { RouterProvider } from 'react-router/dom';
import { returnFocus } from './focus-return.ts';
import { styleNonce } from './nonce.ts';
import { queryDefaults } from './queries.ts';
import { router } from './routes.tsx';
import { theme, variables } from './theme.ts';

const queries = new QueryClient({ defaultOptions: queryDefaults });

returnFocus();

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <MantineProvider
      theme={theme}
      cssVariablesResolver={variables}
      defaultColorScheme="auto"
      getStyleNonce={() => styleNonce}
      deduplicateInlineStyles
    >
      <QueryClientProvider client={queries}>
        <ModalsProvider>
          <Notifications position="top-center" containerWidth={360} className="toasts" />
          <RouterProvider router={router} />
        </ModalsProvider>
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
