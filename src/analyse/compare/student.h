// SPDX-License-Identifier: Apache-2.0
// Quantiles that comparisons of means need. Pure; exact to about 1e-10.
#ifndef GAIT_ANALYSE_STUDENT_H
#define GAIT_ANALYSE_STUDENT_H

// What Student's t with so many degrees of freedom does not exceed with that probability.
// `degrees` is at least 1 and need not be whole; `probability` lies within (0, 1).
double student_quantile(double probability, double degrees);

// The same of chi-square.
double chi_square_quantile(double probability, double degrees);

#endif
