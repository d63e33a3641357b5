// Of the toolkit, for the model, which has none of its words: a kernel does without.
#pragma once
