import { Chat } from '@ai-sdk/react';
import * as ai from 'ai';
import { scenarios } from '../scenarios.js';

scenarios({ Chat, ai, major: 5, strict: true });
